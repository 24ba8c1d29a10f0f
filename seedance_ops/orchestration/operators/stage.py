"""What every stage of a run has in common: it knows its job and finds the run's objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.orchestration.hooks import DEFAULT_CONN_ID, StorageHook
from seedance_ops.storage.config import StorageLocation

STAGES = ("plan", "check_environment", "select", "collect", "cost", "statistics", "quality_gate")
"""What must have succeeded before there is anything to judge; ``select`` stands in jobs with phases only."""


class StageOperator(BaseOperator):
    """Base of the stages.

    Args:
        job_name: The job's name, which is also its folder in the object store.
        storage: Where the job wants its runs kept, as JSON; what it leaves out is the connection's.
        storage_conn_id: The Airflow connection of the object store.
    """

    template_fields: Sequence[str] = ("storage", "storage_conn_id")
    stages: ClassVar[tuple[str, ...]] = STAGES

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

    @cached_property
    def hook(self) -> StorageHook:
        """The object store's hook."""
        return StorageHook(conn_id=self.storage_conn_id)

    @property
    def base(self) -> StorageLocation:
        """The location below which every job has its folder."""
        said = {name: value for name, value in (self.storage or {}).items() if value is not None}
        return StorageLocation.model_validate(self.hook.location.model_dump() | said)

    def run_store(self, context: Context) -> RunStore:
        """The objects of this task's run, signed in."""
        self.hook.activate()
        return RunStore(self.base, self.job_name, context["run_id"])

    def manifest_of(self, run: RunStore) -> RunManifest:
        """What ``plan`` wrote; where it has not, no further try of this task can help."""
        from seedance_ops.storage.errors import ObjectMissing

        try:
            return run.manifest()
        except ObjectMissing:
            raise AirflowFailException("the run was never planned") from None

    def states(self, context: Context, *task_ids: str) -> dict[str, str]:
        """The present state of other tasks of this run; one that has none yet is left out."""
        found = context["ti"].get_task_states(
            dag_id=context["ti"].dag_id, task_ids=list(task_ids), run_ids=[context["run_id"]]
        )
        return {task: str(state) for task, state in found.get(context["run_id"], {}).items() if state}

    def stages_not_done(self, context: Context) -> list[str]:
        """The stages before the report that have not succeeded in this run, as it was last run.

        What an earlier pass of a cleared run left in the store must never be taken for this one's.
        """
        stages = [stage for stage in self.stages if self.dag.has_task(stage)]
        states = self.states(context, *stages)
        return [
            f"{stage}: {states.get(stage, 'not run')}" for stage in stages if states.get(stage) != "success"
        ]
