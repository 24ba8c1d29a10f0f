"""Blocks: the variants of one seed, trained one after another on the same nodes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

from seedance_ops.jobs.manifest import PlannedRun
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.launchers.base import LaunchState
from seedance_ops.orchestration.launch_records import records_of
from seedance_ops.orchestration.operators.launch import LaunchTrainingOperator
from seedance_ops.orchestration.operators.stage import StageOperator


def mapped_arguments(job: TrainingJob, runs: Iterable[PlannedRun]) -> list[Any]:
    """What the trainings are mapped over: one run each, or with ``repeats.block`` all runs of one seed."""
    if job.repeats.block == "none":
        return [run.model_dump() for run in runs]
    by_seed = groupby(sorted(runs, key=lambda run: run.order), key=lambda run: run.seed)
    return [[run.model_dump() for run in block] for _, block in by_seed]


class BlockTrainingOperator(LaunchTrainingOperator):
    """Train what stands at one place of a block, where the block's earlier trainings ran.

    Args:
        block: The runs of one seed, in their order: ``variant``, ``seed`` and ``order`` of each.
        position: Which of them; a block that is shorter skips this task.
    """

    template_fields = (*StageOperator.template_fields, "block")

    def __init__(self, *, block: list[dict[str, Any]], position: int, **kwargs: Any) -> None:
        super().__init__(variant="", seed=0, order=position, **kwargs)
        self.block = block
        self.position = position

    @property
    def label(self) -> str:
        """What people see of this task."""
        if self.position >= len(self.block):
            return "none"
        return "{variant} seed {seed}".format_map(self.block[self.position])

    def execute(self, context: Context) -> dict[str, Any]:
        """As its base; skips where the block has no such place."""
        self._take_place()
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """As its base."""
        self._take_place()
        return super().execute_complete(context, event)

    def nodes(self, run: RunStore) -> tuple[str, ...]:
        """Where the newest successful training of an earlier place ran; the first one chooses freely."""
        for earlier in reversed(self.block[: self.position]):
            records = records_of(run, earlier["variant"], earlier["seed"])
            for record in sorted(records, key=lambda found: found.submission, reverse=True):
                if record.nodes and record.state is LaunchState.SUCCEEDED:
                    return record.nodes
        return ()

    def _take_place(self) -> None:
        if self.position >= len(self.block):
            raise AirflowSkipException(f"the block has {len(self.block)} trainings")
        run = self.block[self.position]
        self.variant, self.seed, self.order = run["variant"], run["seed"], run["order"]
