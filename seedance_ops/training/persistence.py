"""What outlives the process: its records in the run's tables, and its checkpoints; nothing without a plan."""

from __future__ import annotations

import time

from seedance_ops.training.checkpoint.state import Position, Restored, TrainingState
from seedance_ops.training.compression.auto.decision import InObjectStore, OfThisRunOnly, Record
from seedance_ops.training.environment import JobEnvironment
from seedance_ops.training.log import RunLog
from seedance_ops.training.metrics.records import StepRecord
from seedance_ops.training.parallel import ProcessGroup

_STORE_PATIENCE_S = 120.0
"""How long a session waits for a store that does not answer: a restart of it should not end the run."""


class Persistence:
    """The log and the checkpointer of one session."""

    def __init__(self, environment: JobEnvironment, group: ProcessGroup) -> None:
        self._plan = plan = environment.plan
        self.decisions: Record = OfThisRunOnly()
        """What is decided once for all seeds of the variant."""
        tables, usage, checkpoint_usage = None, None, None
        if plan is not None:
            # Only here, since a run without a plan should not wait for the imports.
            from seedance_ops.storage.client import ObjectStore
            from seedance_ops.training.checkpoint.checkpointer import Checkpointer
            from seedance_ops.training.checkpoint.places import Places
            from seedance_ops.training.metrics.energy import energy_counter
            from seedance_ops.training.metrics.usage import UsageMeter
            from seedance_ops.training.metrics.writing import RunTables

            store = ObjectStore(plan.storage, patience_s=_STORE_PATIENCE_S)
            own_store = ObjectStore(plan.storage, patience_s=_STORE_PATIENCE_S)
            tables = RunTables(store, plan, group.rank)
            usage = UsageMeter(group.rank, store.traffic, energy_counter(group.device, group.local_rank))
            checkpoint_usage = UsageMeter(group.rank, own_store.traffic, None)
            if plan.decisions is not None:
                self.decisions = InObjectStore(ObjectStore(plan.decisions, patience_s=_STORE_PATIENCE_S))
            beside, node = environment.workspace, group.rank // group.local_world_size
            self._checkpointer = Checkpointer(
                own_store, plan, group, lambda tier: Places.of(plan, beside, node, tier)
            )
        metrics_file = environment.metrics_file if group.rank == 0 else None
        self.log = RunLog(tables, metrics_file, usage, checkpoint_usage)
        self._saved_step = 0

    def resume(self, state: TrainingState) -> Restored | None:
        """Take up the newest committed checkpoint, if there is one."""
        if self._plan is None:
            return None
        restored = self._checkpointer.restore(state)
        if restored is not None:
            # Where only a node has it, the end of training is no end yet.
            self._saved_step = restored.position.step - (not restored.is_far)
            self.log.train_elapsed_s = restored.position.train_elapsed_s
        return restored

    def due(self, step: int) -> bool:
        """Whether the plan asks for a checkpoint after this step."""
        return self._plan is not None and self._checkpointer.due(step)

    def add_step(self, record: StepRecord) -> None:
        """A finished step."""
        self.log.add_step(record)
        if self._plan is not None:
            self._checkpointer.observe(record)

    def save(self, state: TrainingState, position: Position) -> float:
        """Begin a checkpoint, and hear of those before; returns how long training stood still.

        It is committed after the records so far are stored: no step can be in a checkpoint and in no table,
        since a resumed run would not repeat it.
        """
        started = time.perf_counter()
        if self._checkpointer.save(state, position, self._store_records):
            self._saved_step = position.step
        self.log.add_checkpoints(self._checkpointer.records())
        return time.perf_counter() - started

    def finish(self, state: TrainingState, position: Position) -> None:
        """The final checkpoint, unless nothing has happened since the last; then the last records."""
        if self._plan is None:
            return
        if position.step > self._saved_step:
            self.save(state, position)
        self._checkpointer.settle()
        self.flush()
        self._checkpointer.clear()

    def flush(self) -> None:
        """Store what is recorded."""
        if self._plan is not None:
            self.log.add_checkpoints(self._checkpointer.records())
        self._store_records()

    def close(self, *, hurry: bool) -> None:
        """Let what is under way come to an end, unless other ranks are gone already."""
        if self._plan is not None:
            self._checkpointer.close(hurry=hurry)

    def _store_records(self) -> None:
        if self._plan is not None:
            self.log.add_intervals(self._checkpointer.decisions())
        self.log.flush()
