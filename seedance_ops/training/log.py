"""What a run records: kept in memory, and where there is a plan, flushed to the run's tables."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import MutableSequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from seedance_ops.training.metrics.records import (
    CheckpointIntervalRecord,
    CheckpointWriteRecord,
    EvaluationRecord,
    StepRecord,
    UsageRecord,
)
from seedance_ops.training.metrics.usage import CHECKPOINT, RUN, UsageMeter

if TYPE_CHECKING:
    from seedance_ops.training.metrics.writing import PartWriter, RunTables

_REMEMBERED_STEPS = 10_000
Row = TypeVar(
    "Row", StepRecord, EvaluationRecord, CheckpointWriteRecord, CheckpointIntervalRecord, UsageRecord
)


class RunLog:
    """Rows of this rank, and its training time so far.

    Args:
        tables: Where rows go; none without a plan.
        metrics_file: Where the launcher wants to see evaluations.
        usage: What tells what this rank uses; none without a plan.
        checkpoint_usage: The same of what writes checkpoints.
    """

    def __init__(
        self,
        tables: RunTables | None,
        metrics_file: Path | None,
        usage: UsageMeter | None = None,
        checkpoint_usage: UsageMeter | None = None,
    ) -> None:
        self._tables = tables
        self._metrics_file = metrics_file
        self._meter, self._checkpoint_meter = usage, checkpoint_usage
        self._lock, self._flushing = threading.Lock(), threading.Lock()
        self.steps: deque[StepRecord] = deque(maxlen=None if tables else _REMEMBERED_STEPS)
        self.evaluations: list[EvaluationRecord] = []
        self.checkpoint_writes: list[CheckpointWriteRecord] = []
        self.checkpoint_intervals: list[CheckpointIntervalRecord] = []
        self.usage: list[UsageRecord] = []
        self.train_elapsed_s = 0.0

    def add_step(self, record: StepRecord) -> None:
        """A finished step."""
        with self._lock:
            self.steps.append(record)
        self.train_elapsed_s += record.step_time_s
        if self._meter is not None:
            self._meter.keep_up()

    def add_evaluation(self, step: int, samples_seen: int, metric: str, value: float) -> None:
        """An evaluation; also a line of the metrics file, where the launcher named one."""
        now = time.time()
        record = EvaluationRecord(step, samples_seen, now, self.train_elapsed_s, metric, value)
        with self._lock:
            self.evaluations.append(record)
        if self._metrics_file is not None:
            line = json.dumps({"metric": metric, "value": value, "step": step, "at_s": now})
            with self._metrics_file.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def add_checkpoints(self, writes: list[CheckpointWriteRecord]) -> None:
        """Committed checkpoints, and what their client has used since the last call."""
        with self._lock:
            self.checkpoint_writes += writes
            if self._checkpoint_meter is not None:
                self.usage += self._checkpoint_meter.take(CHECKPOINT)

    def add_intervals(self, decisions: list[CheckpointIntervalRecord]) -> None:
        """What was decided on the interval between checkpoints."""
        with self._lock:
            self.checkpoint_intervals += decisions

    def flush(self) -> None:
        """Write what is new to the tables; without tables, keep it.

        Another thread may do it while training adds more. What could not be written stays for the next time.
        """
        if self._tables is None:
            return
        with self._flushing:
            self._move(self.steps, self._tables.steps)
            self._move(self.evaluations, self._tables.evaluations)
            self._move(self.checkpoint_writes, self._tables.checkpoint_writes)
            self._move(self.checkpoint_intervals, self._tables.checkpoint_intervals)
            self._note_usage()  # after the others, so that their requests are in it
            self._move(self.usage, self._tables.usage)
            self._note_usage()  # the request just made; it stands in the next part

    def _move(self, rows: MutableSequence[Row], table: PartWriter) -> None:
        with self._lock:
            new = list(rows)
        table.write(new)
        with self._lock:  # training has only added to the end meanwhile
            for _ in new:
                del rows[0]

    def _note_usage(self) -> None:
        if self._meter is not None:
            with self._lock:
                self.usage += self._meter.take(RUN)
