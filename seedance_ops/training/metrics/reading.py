"""Reads a run's tables back, in the two views that the tables' contract defines."""

from __future__ import annotations

import io
import logging
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.metrics.tables import (
    CHECKPOINT_INTERVALS,
    CHECKPOINT_WRITES,
    EVALUATIONS,
    STEPS,
    USAGE,
)

_PARQUET_MAGIC = b"PAR1"

_log = logging.getLogger(__name__)

View = Literal["training", "cost"]
"""``training``: each step once, as the last submission did it. ``cost``: every step that was paid for."""


def read_steps(store: ObjectStore, view: View = "training") -> pa.Table:
    """The step records below one run's location, by rank and step; empty where there are none."""
    table = _read(store, "steps/", STEPS)
    if view == "training":
        table = _last_of_each(table, ("rank", "step"), "started_at_s")
    return table.sort_by([("rank", "ascending"), ("step", "ascending"), ("submission", "ascending")])


def read_evaluations(store: ObjectStore, view: View = "training") -> pa.Table:
    """The evaluations below one run's location, by step and metric."""
    table = _read(store, "evaluations/", EVALUATIONS)
    if view == "training":
        table = _last_of_each(table, ("step", "metric"), "at_s")
    return table.sort_by([("step", "ascending"), ("metric", "ascending"), ("submission", "ascending")])


def read_checkpoint_writes(store: ObjectStore) -> pa.Table:
    """Every checkpoint write below one run's location: each was paid for."""
    table = _read(store, "checkpoint_writes/", CHECKPOINT_WRITES)
    return table.sort_by([("submission", "ascending"), ("step", "ascending"), ("tier", "ascending")])


def read_checkpoint_intervals(store: ObjectStore) -> pa.Table:
    """Every decision on when to take a checkpoint below one run's location; none at a fixed interval."""
    table = _read(store, "checkpoint_intervals/", CHECKPOINT_INTERVALS)
    return table.sort_by([("submission", "ascending"), ("at_s", "ascending"), ("step", "ascending")])


def read_usage(store: ObjectStore) -> pa.Table:
    """What every rank of every submission used below one run's location: all of it was paid for."""
    table = _read(store, "usage/", USAGE)
    return table.sort_by([("submission", "ascending"), ("rank", "ascending"), ("at_s", "ascending")])


def _read(store: ObjectStore, prefix: str, schema: pa.Schema) -> pa.Table:
    contents = {key: store.get(key) for key in store.list(prefix) if key.endswith(".parquet")}
    parts = [
        pq.read_table(io.BytesIO(content), schema=schema)
        for key, content in contents.items()
        if not _is_torn(key, content)
    ]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _is_torn(key: str, content: bytes) -> bool:
    """Whether a part lacks its end: some stores keep what came before its writer was killed.

    No checkpoint was committed after it, so the steps in it were done again.
    """
    if content.endswith(_PARQUET_MAGIC):
        return False
    _log.warning("%s was cut off, %d bytes are there: its writer was killed; passed over", key, len(content))
    return True


def _last_of_each(table: pa.Table, keys: tuple[str, ...], time_column: str) -> pa.Table:
    """Of the rows that share their keys, the one of the highest submission; of those, the latest."""
    newest: dict[tuple[Any, ...], tuple[tuple[int, float], int]] = {}
    columns = [table.column(key).to_pylist() for key in keys]
    ages = zip(table.column("submission").to_pylist(), table.column(time_column).to_pylist(), strict=True)
    for row, (key, age) in enumerate(zip(zip(*columns, strict=True), ages, strict=True)):
        if key not in newest or age > newest[key][0]:
            newest[key] = (age, row)
    return table.take(pa.array(sorted(row for _, row in newest.values()), pa.int64()))
