"""The stages of an audit's DAG."""

from __future__ import annotations

from typing import Any

from airflow.sdk import TriggerRule

from seedance_ops.jobs.audit_job import AuditJob
from seedance_ops.orchestration.operators.audit import (
    AuditGateOperator,
    AuditReportOperator,
    AuditVerdictOperator,
    PlanAuditOperator,
    RecomputeOperator,
)


def audit_stages(job: AuditJob, source: str, project: str) -> None:
    """``plan → recompute → quality_gate → report → verdict``, inside the DAG that is open."""
    storage = job.storage.model_dump(mode="json", exclude_unset=True) if job.storage else None
    common: dict[str, Any] = {"job_name": job.metadata.name, "storage": storage}
    plan = PlanAuditOperator(task_id="plan", job=job, source=source, project=project, storage=storage)
    recompute = RecomputeOperator(task_id="recompute", **common)
    gate = AuditGateOperator(task_id="quality_gate", **common)
    report = AuditReportOperator(task_id="report", trigger_rule=TriggerRule.ALL_DONE, **common)
    verdict = AuditVerdictOperator(task_id="verdict", trigger_rule=TriggerRule.ALL_DONE, retries=0, **common)
    plan >> recompute >> gate >> report >> verdict
