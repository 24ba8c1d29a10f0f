"""Loss curves of every run over the samples it saw, thinned to what a figure can show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from seedance_ops.reporting.report_model import Curve
from seedance_ops.reporting.run_tables import RunTables

_POINTS_PER_FIGURE = 4000
_FEWEST, _MOST = 20, 150
TRAIN_LOSS = "train_loss"
_RUN = ["variant", "seed"]


def curves_of(tables: RunTables, quality: str | None) -> tuple[Curve, ...]:
    """The training loss (mean over ranks), and the quality metric where it was evaluated."""
    return (*_train_loss(tables.steps), *(_evaluated(tables.evaluations, quality) if quality else ()))


def _train_loss(steps: pd.DataFrame) -> Iterator[Curve]:
    of_step = (
        steps.groupby([*_RUN, "step"], sort=True)
        .agg(samples=("samples", "sum"), value=(TRAIN_LOSS, "mean"))
        .reset_index()
    )
    of_step["samples"] = of_step.groupby(_RUN)["samples"].cumsum()
    yield from _curves(TRAIN_LOSS, of_step)


def _evaluated(evaluations: pd.DataFrame, metric: str) -> Iterator[Curve]:
    rows = evaluations[evaluations["metric"] == metric].sort_values([*_RUN, "step"], kind="stable")
    seen = rows["samples_seen"].where(rows["samples_seen"].notna(), rows["step"])
    yield from _curves(metric, rows.assign(samples=seen))


def _curves(metric: str, rows: pd.DataFrame) -> Iterator[Curve]:
    """One curve per run with finite points: means over buckets of neighbours, as many as fit."""
    points = rows[[*_RUN, "samples", "value"]].astype({"samples": "float64", "value": "float64"})
    points = points.loc[np.isfinite(points["samples"]) & np.isfinite(points["value"])]
    runs = points.groupby(_RUN, sort=False)
    most = min(_MOST, max(_FEWEST, _POINTS_PER_FIGURE // max(1, len(runs))))
    for _, run in runs:
        bucket = np.arange(len(run)) * min(most, len(run)) // len(run)
        thinned = run[["samples", "value"]].groupby(bucket).mean()
        yield Curve(
            metric=metric,
            variant=run["variant"].iloc[0],
            seed=int(run["seed"].iloc[0]),
            samples=tuple(thinned["samples"]),
            values=tuple(thinned["value"]),
        )
