"""Writes a rank's rows to the object store: one new Parquet part per table and flush, never over another."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.metrics.records import (
    CheckpointIntervalRecord,
    CheckpointWriteRecord,
    EvaluationRecord,
    StepRecord,
    UsageRecord,
)
from seedance_ops.training.metrics.tables import (
    CHECKPOINT_INTERVALS,
    CHECKPOINT_WRITES,
    EVALUATIONS,
    STEPS,
    USAGE,
)
from seedance_ops.training.plan import LaunchPlan

STAMP_KEY = b"seedance.stamp"
"""Where a table's schema metadata holds the run's provenance, as JSON."""

Record = StepRecord | EvaluationRecord | CheckpointWriteRecord | CheckpointIntervalRecord | UsageRecord


class PartWriter:
    """The parts of one table, of one submission (and rank)."""

    def __init__(self, store: ObjectStore, plan: LaunchPlan, schema: pa.Schema, folder: str) -> None:
        self._store = store
        self._folder = folder
        self._identity: dict[str, Any] = {
            "job": plan.job,
            "run_id": plan.run_id,
            "variant": plan.variant,
            "seed": plan.seed,
            "submission": plan.submission,
        }
        stamp = {**plan.stamp, "job_hash": plan.job_hash}
        self._schema = schema.with_metadata({STAMP_KEY: json.dumps(stamp, sort_keys=True)})
        self._next_part: int | None = None

    def write(self, records: Sequence[Record]) -> None:
        """Store the records as the next part; nothing for none."""
        if not records:
            return
        if self._next_part is None:  # torchrun may have restarted this submission's processes
            self._next_part = len(self._store.list(f"{self._folder}/"))
        rows = [self._identity | asdict(record) for record in records]
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, self._schema), buffer, compression="zstd")
        key = f"{self._folder}/part-{self._next_part:05d}.parquet"
        self._store.put(key, buffer.getvalue(), if_absent=True)
        self._next_part += 1


class RunTables:
    """All tables of a run, as one rank writes them."""

    def __init__(self, store: ObjectStore, plan: LaunchPlan, rank: int) -> None:
        submission = f"submission-{plan.submission:03d}"
        self.steps = PartWriter(store, plan, STEPS, f"steps/{submission}/rank-{rank:04d}")
        self.evaluations = PartWriter(store, plan, EVALUATIONS, f"evaluations/{submission}")
        self.checkpoint_writes = PartWriter(store, plan, CHECKPOINT_WRITES, f"checkpoint_writes/{submission}")
        self.checkpoint_intervals = PartWriter(
            store, plan, CHECKPOINT_INTERVALS, f"checkpoint_intervals/{submission}"
        )
        self.usage = PartWriter(store, plan, USAGE, f"usage/{submission}/rank-{rank:04d}")
