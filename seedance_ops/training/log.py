"""What a run records: kept in memory, and where there is a plan, flushed to the run's tables."""

from __future__ import annotations

import json
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from seedance_ops.training.metrics.records import (
    CheckpointWriteRecord,
    EvaluationRecord,
    StepRecord,
    UsageRecord,
)
from seedance_ops.training.metrics.usage import CHECKPOINT, RUN, UsageMeter

if TYPE_CHECKING:
    from seedance_ops.training.metrics.writing import RunTables

_REMEMBERED_STEPS = 10_000


class RunLog:
    """Rows of this rank, and its training time so far.

    Args:
        tables: Where rows go; none without a plan.
        metrics_file: Where the launcher wants to see evaluations.
        usage: What tells what this rank uses; none without a plan.
    """

    def __init__(
        self, tables: RunTables | None, metrics_file: Path | None, usage: UsageMeter | None = None
    ) -> None:
        self._tables = tables
        self._metrics_file = metrics_file
        self._meter = usage
        self.steps: deque[StepRecord] = deque(maxlen=None if tables else _REMEMBERED_STEPS)
        self.evaluations: list[EvaluationRecord] = []
        self.checkpoint_writes: list[CheckpointWriteRecord] = []
        self.usage: list[UsageRecord] = []
        self.train_elapsed_s = 0.0

    def add_step(self, record: StepRecord) -> None:
        """A finished step."""
        self.steps.append(record)
        self.train_elapsed_s += record.step_time_s
        if self._meter is not None:
            self._meter.keep_up()

    def add_evaluation(self, step: int, samples_seen: int, metric: str, value: float) -> None:
        """An evaluation; also a line of the metrics file, where the launcher named one."""
        now = time.time()
        record = EvaluationRecord(step, samples_seen, now, self.train_elapsed_s, metric, value)
        self.evaluations.append(record)
        if self._metrics_file is not None:
            line = json.dumps({"metric": metric, "value": value, "step": step, "at_s": now})
            with self._metrics_file.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def add_checkpoint(self, writes: list[CheckpointWriteRecord]) -> None:
        """A committed checkpoint: what was used since the last flush was used for it."""
        self.checkpoint_writes += writes
        self._note_usage(CHECKPOINT)

    def flush(self) -> None:
        """Write what is new to the tables; without tables, keep it."""
        if self._tables is None:
            return
        self._tables.steps.write(list(self.steps))
        self.steps.clear()
        self._tables.evaluations.write(self.evaluations)
        self.evaluations.clear()
        self._tables.checkpoint_writes.write(self.checkpoint_writes)
        self.checkpoint_writes.clear()
        self._note_usage(RUN)  # after the others, so that their requests are in it
        self._tables.usage.write(self.usage)
        self.usage.clear()
        self._note_usage(RUN)  # the request just made; it stands in the next part

    def _note_usage(self, stage: str) -> None:
        if self._meter is not None:
            self.usage += self._meter.take(stage)
