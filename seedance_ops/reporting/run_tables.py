"""A run's raw tables, as frames with declared columns, and their way to the run store and back."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

import pandas as pd

from seedance_ops.jobs.manifest import RESERVED
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.storage.errors import ObjectMissing
from seedance_ops.strict_model import StrictModel

LAUNCHES = {
    "variant": "str",
    "seed": "int64",
    "take": "int64",
    "submission": "int64",
    "order": "int64",
    "state": "str",
    "reason": "str",
    "launcher": "str",
    "accelerator": "str",
    "nodes": "str",
    "num_nodes": "int64",
    "accelerators_per_node": "int64",
    "submitted_at_s": "float64",
    "started_at_s": "float64",
    "ended_at_s": "float64",
    "queue_s": "float64",
    "run_s": "float64",
    "mean_cpu_utilisation": "float64",
    "peak_memory_bytes": "float64",
}
"""Columns and types of ``launches`` and ``earlier_launches``: one row per submission."""

USAGE = {
    "variant": "str",
    "seed": "int64",
    "submission": "int64",
    "rank": "int64",
    "at_s": "float64",
    "stage": "str",
    "component": "str",
    "tier": "str",
    "quantity": "float64",
    "method": "str",
}
"""Columns and types of ``usage``: what ``training.metrics.tables.USAGE`` has, and what the ledger prices."""

CURVE_COLUMNS = ("variant", "seed", "step", "samples", "train_loss")
"""Of ``steps``: what a report reads."""
_PROBLEMS = "table_problems.json"


class _Problems(StrictModel):
    problems: tuple[str, ...]


@dataclass(frozen=True)
class RunTables:
    """What a run's trainings recorded, the newest take of each.

    ``steps``, ``evaluations``, ``checkpoint_writes`` and ``usage`` have the columns of
    ``training.metrics.tables`` without ``job`` and ``run_id``; ``launches`` and ``earlier_launches`` those of
    ``LAUNCHES``.
    """

    steps: pd.DataFrame
    evaluations: pd.DataFrame
    checkpoint_writes: pd.DataFrame
    launches: pd.DataFrame
    earlier_launches: pd.DataFrame = field(default_factory=lambda: frame_of([], LAUNCHES))
    """Of the takes before the newest: nothing rests on them but what the study cost."""
    usage: pd.DataFrame = field(default_factory=lambda: frame_of([], USAGE))
    """Requests, bytes sent and energy; of a run of a version that recorded none, empty."""
    problems: tuple[str, ...] = ()
    """What could not be read, and where it stands."""

    def write(self, run: RunStore) -> None:
        """Store the tables under their names."""
        run.write_frame("steps", self.steps)
        run.write_frame("evaluations", self.evaluations)
        run.write_frame("checkpoint_writes", self.checkpoint_writes)
        run.write_frame("launches", self.launches)
        run.write_frame("earlier_launches", self.earlier_launches)
        run.write_frame("usage", self.usage)
        run.write(_PROBLEMS, _Problems(problems=self.problems))

    @classmethod
    def read(cls, run: RunStore, *, curves_only: bool = False) -> RunTables:
        """Read what ``write`` stored; raises ``ObjectMissing`` where it has not.

        ``curves_only`` leaves out the columns of ``steps`` that no curve is drawn from: of long runs they are
        most of what is stored.
        """
        return cls(
            steps=curve_columns(run.objects.get(f"{RESERVED}/tables/steps.parquet"))
            if curves_only
            else run.frame("steps"),
            evaluations=run.frame("evaluations"),
            checkpoint_writes=run.frame("checkpoint_writes"),
            launches=run.frame("launches"),
            earlier_launches=run.frame("earlier_launches"),
            usage=stored_usage(run),
            problems=run.read(_PROBLEMS, _Problems).problems,
        )


def stored_usage(run: RunStore) -> pd.DataFrame:
    """What the run used beside its accelerators' time; none of a run that an older version collected."""
    try:
        return run.frame("usage")
    except ObjectMissing:
        return frame_of([], USAGE)


def curve_columns(parquet: bytes) -> pd.DataFrame:
    """The columns of a stored ``steps`` table that loss curves are drawn from."""
    return pd.read_parquet(io.BytesIO(parquet), columns=list(CURVE_COLUMNS))


def frame_of(rows: list[dict[str, object]], columns: dict[str, str]) -> pd.DataFrame:
    """Rows as a frame with exactly these columns and types, also when there are none."""
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)
