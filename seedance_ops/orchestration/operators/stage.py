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
        storage: Where the job wants its runs kept, as JSON; what it leaves out is the connection's.
        storage_conn_id: The Airflow connection of the object store.
    """

    template_fields: Sequence[str] = ("storage", "storage_conn_id")

    def __init__(
        self,
        *,
        job_name: str,
        storage: dict[str, Any] | None = None,
        storage_conn_id: str = DEFAULT_CONN_ID,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.job_name = job_name
        self.storage = storage
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
        said = {name: value for name, value in (self.storage or {}).items() if value is not None}
        return StorageLocation.model_validate(hook.location.model_dump() | said)
