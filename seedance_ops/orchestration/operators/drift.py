"""Looks for drift of cost and quality in the history of every job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context

from seedance_ops.orchestration.hooks import DEFAULT_CONN_ID, StorageHook

FOLDER = "_drift"
"""Below the base of all jobs: one report a job, of its newest look."""


class DriftOperator(BaseOperator):
    """Write each job's drift report beside its runs, and log every change of level with its likeliest cause.

    Looks where the connection says: a job with a ``storage`` of its own keeps its history there, unseen.
    Finding drift is no failure of this task: whoever wants to be told reads its result.

    Args:
        storage_conn_id: The Airflow connection of the object store.
    """

    template_fields: Sequence[str] = ("storage_conn_id",)

    def __init__(self, *, storage_conn_id: str = DEFAULT_CONN_ID, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.storage_conn_id = storage_conn_id

    def execute(self, context: Context) -> dict[str, int]:  # noqa: ARG002 - Airflow's signature
        """Returns how many changes of level each job has; jobs without any are left out."""
        from seedance_ops.planning.drift import drift_of
        from seedance_ops.planning.history import History, jobs_with_history
        from seedance_ops.storage.client import ObjectStore

        hook = StorageHook(conn_id=self.storage_conn_id)
        hook.activate()
        base = hook.location
        objects = ObjectStore(base.child(FOLDER), patience_s=60.0)
        objects.ensure_bucket()
        found: dict[str, int] = {}
        for job in jobs_with_history(base):
            report = drift_of(job, History(base, job).records())
            objects.put(f"{job}.json", report.model_dump_json(indent=2).encode())
            for series, drift in report.findings:
                self.log.warning("%s", report.sentence(series, drift))
            if report.findings:
                found[job] = len(report.findings)
        return found
