"""The stages of an audit: fix the figures, recompute, judge, report, verdict."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from seedance_ops.jobs.audit_job import AuditJob
from seedance_ops.jobs.audit_manifest import FIGURES, MANIFEST, AuditManifest
from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.manifest import RESERVED
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.jobs.source_text import read_text
from seedance_ops.orchestration.links import ReportLink
from seedance_ops.orchestration.operators.stage import StageOperator

if TYPE_CHECKING:
    from seedance_ops.audit.published import PublishedFigures

AUDIT_STAGES = ("plan", "recompute", "quality_gate")
"""What must have succeeded before there is anything to report."""
_DERIVED = ("audit.json", "gates.json", "report.json", "report.html")


class AuditStageOperator(StageOperator):
    """Base of an audit's stages."""

    stages: ClassVar[tuple[str, ...]] = AUDIT_STAGES

    def audit_manifest(self, run: RunStore) -> AuditManifest:
        """What ``plan`` wrote; where it has not, no further try of this task can help."""
        from seedance_ops.storage.errors import ObjectMissing

        try:
            return run.read(MANIFEST, AuditManifest)
        except ObjectMissing:
            raise AirflowFailException("the run was never planned") from None

    def published(self, run: RunStore) -> PublishedFigures:
        """The figures as they were when the run was planned."""
        from seedance_ops.jobs.published_file import load_published_text

        return load_published_text(run.text(FIGURES), Path(FIGURES))


class PlanAuditOperator(AuditStageOperator):
    """Fix the published figures, so that an edit in the middle of a run changes nothing.

    Args:
        job: The job.
        source: The job file, relative to the project.
        project: The project's root on this machine.
    """

    def __init__(self, *, job: AuditJob, source: str, project: str, **kwargs: Any) -> None:
        super().__init__(job_name=job.metadata.name, **kwargs)
        self.job = job
        self.source = source
        self.project = project

    def execute(self, context: Context) -> dict[str, str]:
        """Write manifest and figures; returns the figures' digest."""
        from seedance_ops.jobs.published_file import load_published_text

        run = self.run_store(context)
        run.objects.ensure_bucket()
        file = Path(self.project, self.job.published)
        try:
            text = read_text(file)
            load_published_text(text, file)
        except JobErrors as errors:
            raise AirflowFailException(errors.render()) from None  # another try would read the same
        digest = hashlib.sha256(text.encode()).hexdigest()
        run.forget(*_DERIVED)
        run.write_text(FIGURES, text)
        run.write(
            MANIFEST,
            AuditManifest(
                job=self.job, source=self.source, run_id=context["run_id"], published_sha256=digest
            ),
        )
        return {"published_sha256": digest}


class RecomputeOperator(AuditStageOperator):
    """Recompute every claim."""

    def execute(self, context: Context) -> dict[str, str]:
        """Write ``audit.json``; returns the outcome of each claim."""
        from seedance_ops.audit.recompute import audit

        run = self.run_store(context)
        findings = audit(self.published(run))
        run.write("audit.json", findings)
        for finding in findings.findings:
            self.log.info("%s: %s: %s", finding.claim, finding.outcome, finding.explanation)
        return {finding.claim: finding.outcome for finding in findings.findings}


class AuditGateOperator(AuditStageOperator):
    """One expectation a claim. Records, and never raises on a contradiction."""

    def execute(self, context: Context) -> dict[str, Any]:
        """Write ``gates.json``; returns the outcome and the claims that failed."""
        from seedance_ops.audit.findings import AuditFindings
        from seedance_ops.quality.audit_gate import judge_audit

        run = self.run_store(context)
        verdict = judge_audit(run.read("audit.json", AuditFindings), self.audit_manifest(run).job.accept)
        run.write("gates.json", verdict)
        return {"outcome": verdict.outcome, "failed": list(verdict.failed)}


class AuditReportOperator(AuditStageOperator):
    """Write ``report.html`` and ``report.json``, also when stages before it failed: then it says which."""

    operator_extra_links = (ReportLink(),)

    def execute(self, context: Context) -> dict[str, Any]:
        """Returns the location of the report's folder, for the page that shows it."""
        from seedance_ops.audit.findings import AuditFindings
        from seedance_ops.quality.audit_gate import AuditVerdict
        from seedance_ops.reporting.audit_report import (
            build_audit_report,
            failed_audit_report,
            render_audit_html,
        )

        run = self.run_store(context)
        manifest = self.audit_manifest(run)
        if problems := self.stages_not_done(context):
            report = failed_audit_report(manifest, [f"stage {problem}" for problem in problems])
        else:
            findings, verdict = run.read("audit.json", AuditFindings), run.read("gates.json", AuditVerdict)
            report = build_audit_report(manifest, self.published(run), findings, verdict)
        run.write("report.json", report)
        run.write_text("report.html", render_audit_html(report))
        return run.location.child(RESERVED).model_dump(mode="json")


class AuditVerdictOperator(AuditStageOperator):
    """The only leaf: fails the run by the job's ``accept``."""

    operator_extra_links = (ReportLink(),)

    def execute(self, context: Context) -> str:
        """Returns the outcome; raises where the job does not accept it."""
        from seedance_ops.quality.audit_gate import AuditVerdict

        if problems := self.stages_not_done(context):
            raise AirflowFailException(f"nothing to judge: {', '.join(problems)}")
        verdict = self.run_store(context).read("gates.json", AuditVerdict)
        if not verdict.accepted:
            failed = ", ".join(verdict.failed)
            raise AirflowFailException(
                f"not accepted (accept: {verdict.accept}): {verdict.outcome}: {failed}"
            )
        return verdict.outcome
