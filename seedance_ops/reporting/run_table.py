"""The run table: one row per completed variant and seed, one column per metric, and what is missing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from seedance_ops.cost.accelerator_time import PATH_COLUMNS
from seedance_ops.cost.peaks import PeakUsed, is_of
from seedance_ops.cost.run_cost import COST_METRICS
from seedance_ops.jobs.manifest import PlannedRun, RunManifest
from seedance_ops.jobs.metrics import metrics_of
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import ResolvedVariant
from seedance_ops.quality.missing import MissingRun
from seedance_ops.reporting.run_metrics import (
    checkpoint_metrics,
    energy_metrics,
    launch_metrics,
    peak_metrics,
    session_metrics,
    workload_metrics,
)
from seedance_ops.reporting.run_tables import RunTables, frame_of

RUN_COLUMNS = {
    "variant": "str",
    "seed": "int64",
    "take": "int64",
    "submissions": "int64",
    "order": "int64",
    "started_at_s": "float64",
    "ended_at_s": "float64",
    "flops_method": "str",
    "samples": "float64",
    "model_flops": "float64",
    "target_elapsed_s": "float64",
    **dict.fromkeys(PATH_COLUMNS, "float64"),
}
"""The columns that describe a run without being metrics."""


@dataclass(frozen=True)
class RunTable:
    """What can be compared, and what cannot."""

    frame: pd.DataFrame
    """Columns of ``columns_of(job)``; the cost metrics join later (``cost.run_cost.with_costs``)."""
    missing: tuple[MissingRun, ...]


def columns_of(job: TrainingJob) -> dict[str, str]:
    """Columns and types of a job's run table: ``RUN_COLUMNS``, then every metric but the cost's."""
    metrics = [name for name in metrics_of(job) if name not in COST_METRICS]
    return RUN_COLUMNS | dict.fromkeys(metrics, "float64")


def assemble(manifest: RunManifest, tables: RunTables) -> RunTable:
    """Every planned run either as a row of metrics or with the reason why it has none."""
    rows: list[dict[str, object]] = []
    missing: list[MissingRun] = []
    resolved = {name: manifest.job.resolve(name) for name in manifest.job.variants}
    records = _Records(tables)
    for planned in manifest.runs:
        variant = resolved[planned.variant]
        of_run = records.of(planned)
        reason = _why_missing(of_run, variant)
        if reason is None:
            rows.append(_row(planned, of_run, variant, peak_of(manifest, planned.variant)))
        else:
            missing.append(MissingRun(variant=planned.variant, seed=planned.seed, reason=reason))
    columns = columns_of(manifest.job)
    filled = [dict.fromkeys(columns, math.nan) | row for row in rows]
    return RunTable(frame_of(filled, columns), tuple(missing))


class _Records:
    """The tables split by variant and seed once, instead of searched for every run."""

    def __init__(self, tables: RunTables) -> None:
        self._steps = _Parts(tables.steps)
        self._evaluations = _Parts(tables.evaluations)
        self._checkpoint_writes = _Parts(tables.checkpoint_writes)
        self._launches = _Parts(tables.launches)
        self._usage = _Parts(tables.usage)

    def of(self, planned: PlannedRun) -> RunTables:
        """One training's records; its launches in the order of submission."""
        return RunTables(
            steps=self._steps.of(planned),
            evaluations=self._evaluations.of(planned),
            checkpoint_writes=self._checkpoint_writes.of(planned),
            launches=self._launches.of(planned).sort_values("submission"),
            usage=self._usage.of(planned),
        )


class _Parts:
    def __init__(self, frame: pd.DataFrame) -> None:
        self._none = frame.iloc[:0]
        self._rows = frame.groupby(["variant", "seed"], sort=False).indices
        self._frame = frame

    def of(self, planned: PlannedRun) -> pd.DataFrame:
        rows = self._rows.get((planned.variant, planned.seed))
        return self._none if rows is None else self._frame.iloc[rows]


def peak_of(manifest: RunManifest, variant: str) -> PeakUsed | None:
    """What the variant's accelerator can do at best, where its price says which accelerator that is."""
    price = manifest.prices.get(variant)
    peak = price.peak if price else None
    return peak if peak and is_of(manifest.job.resolve(variant).resources.accelerator, peak) else None


def _row(
    planned: PlannedRun, records: RunTables, variant: ResolvedVariant, peak: PeakUsed | None
) -> dict[str, object]:
    newest = records.launches.iloc[-1]
    workload = variant.workload
    metrics = launch_metrics(records.launches)
    metrics |= workload_metrics(records.evaluations, workload.quality, workload.metrics)
    method = ""
    if workload.runtime == "session":
        metrics |= session_metrics(records.steps) | checkpoint_metrics(records.checkpoint_writes)
        metrics |= energy_metrics(records.usage, metrics["samples"], records.launches)
        metrics |= peak_metrics(metrics, variant.num_nodes * variant.resources.count, peak)
        method = ", ".join(sorted(records.steps["flops_method"].dropna().unique()))
    return {
        "variant": planned.variant,
        "seed": planned.seed,
        "take": newest["take"],
        "submissions": len(records.launches),
        "order": newest["order"],
        "started_at_s": records.launches["started_at_s"].min(),
        "ended_at_s": newest["ended_at_s"],
        "flops_method": method or "none",
        **metrics,
    }


def _why_missing(records: RunTables, variant: ResolvedVariant) -> str | None:
    if records.launches.empty:
        return "it was never launched, or its launch left no record"
    newest = records.launches.iloc[-1]
    if newest["state"] != "succeeded":
        why = f": {newest['reason']}" if isinstance(newest["reason"], str) else ""
        return f"submission {newest['submission']} {newest['state']}{why}{_all_submissions(records.launches)}"
    return _gap(records.steps, variant) if variant.workload.runtime == "session" else None


def _all_submissions(launches: pd.DataFrame) -> str:
    """How the submissions ended, where there are several."""
    if len(launches) == 1:
        return ""
    ended = ", ".join(f"{count} {state}" for state, count in launches["state"].value_counts().items())
    return f" ({len(launches)} submissions: {ended})"


def _gap(steps: pd.DataFrame, variant: ResolvedVariant) -> str | None:
    """What the step records lack: every rank must have every step, once."""
    if steps.empty:
        return "it succeeded but left no step records"
    last = int(steps["step"].max())
    planned = variant.total_steps
    if planned is not None and last != planned:
        return f"it ended after step {last} of {planned}"
    ranks = set(range(variant.world_size))
    if found := ranks.symmetric_difference(int(rank) for rank in steps["rank"].unique()):
        return f"ranks {_listed(found)}: recorded or planned, but not both"
    counts = np.zeros((len(ranks), last + 1), dtype=np.int64)
    np.add.at(counts, (steps["rank"].to_numpy(np.int64), steps["step"].to_numpy(np.int64)), 1)
    for rank, of_rank in enumerate(counts[:, 1:]):
        if absent := [int(step) + 1 for step in np.flatnonzero(of_rank == 0)]:
            return f"rank {rank} has no record of step {_listed(absent)}"
        if doubled := [int(step) + 1 for step in np.flatnonzero(of_rank > 1)]:
            return f"rank {rank} has several records of step {_listed(doubled)}"
    return None


def _listed(numbers: set[int] | list[int]) -> str:
    shown = ", ".join(str(number) for number in sorted(numbers)[:5])
    return shown if len(numbers) <= 5 else f"{shown} and {len(numbers) - 5} more"
