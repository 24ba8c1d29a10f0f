"""What every stage of a run has in common: it knows its job and finds the run's objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context

from seedance_ops.jobs.run_store import RunStore
from seedance_ops.orchestration.hooks import DEFAULT_CONN_ID, StorageHook
from seedance_ops.storage.config import StorageLocation


class StageOperator(BaseOperator):
    """Base of the stages.

    Args:
        job_name: The job's name, which is also its folder in the object store.
        storage_uri: ``s3://bucket/prefix`` where the job says so; else the connection's.
        storage_conn_id: The Airflow connection of the object store.
    """

    template_fields: Sequence[str] = ("storage_uri", "storage_conn_id")

    def __init__(
        self,
        *,
        job_name: str,
        storage_uri: str | None = None,
        storage_conn_id: str = DEFAULT_CONN_ID,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.job_name = job_name
        self.storage_uri = storage_uri
        self.storage_conn_id = storage_conn_id

    @property
    def hook(self) -> StorageHook:
        """The object store's hook."""
        return StorageHook(conn_id=self.storage_conn_id)

    def run_store(self, context: Context) -> RunStore:
        """The objects of this task's run, signed in."""
        hook = self.hook
        hook.activate()
        return RunStore(self._base(hook), self.job_name, context["run_id"])

    def _base(self, hook: StorageHook) -> StorageLocation:
        location = hook.location
        return location.model_copy(update={"uri": self.storage_uri}) if self.storage_uri else location
