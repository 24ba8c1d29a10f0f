"""Whether a job's cost or quality has drifted over its accepted runs, and what changed where it did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seedance_ops.planning.causes import Candidate, candidates
from seedance_ops.planning.change_points import change_points
from seedance_ops.planning.history import HistoryRecord
from seedance_ops.stats.outcomes import NotJudgeable
from seedance_ops.strict_model import StrictModel

COST_METRIC = "usd_per_run"


class Drift(StrictModel):
    """One change of level."""

    run_id: str
    """The first run of the new level."""
    before: float
    after: float
    p_value: float
    causes: tuple[Candidate, ...]

    @property
    def change(self) -> float | None:
        """As a share of the level before; none where that is zero."""
        return self.after / self.before - 1 if self.before else None


class Series(StrictModel):
    """One metric of one variant over the job's accepted runs."""

    variant: str
    metric: str
    runs: int
    drifts: tuple[Drift, ...] | NotJudgeable


class DriftReport(StrictModel):
    """The drift of one job."""

    job: str
    runs: int
    """Accepted runs in the history."""
    series: tuple[Series, ...]

    @property
    def findings(self) -> list[tuple[Series, Drift]]:
        """Every change of level that was found."""
        return [
            (series, drift)
            for series in self.series
            if not isinstance(series.drifts, NotJudgeable)
            for drift in series.drifts
        ]

    def sentence(self, series: Series, drift: Drift) -> str:
        """A change of level in one sentence, with its likeliest cause."""
        change = f"{drift.change:+.1%}" if drift.change is not None else "from 0"
        head = (
            f"{self.job}: {series.metric} of {series.variant} went from {drift.before:.4g} to "
            f"{drift.after:.4g} ({change}, p {drift.p_value:.2g}) at run {drift.run_id}"
        )
        if not drift.causes:
            return f"{head}; nothing on record changed there"
        first = drift.causes[0]
        return f"{head}; there {first.what} changed from {first.before} to {first.after}"


def drift_of(job: str, history: Sequence[HistoryRecord]) -> DriftReport:
    """Change points of the baseline's mean cost and quality, over the runs that succeeded.

    The baseline is what stays the same from run to run; a variant is replaced when it wins.

    Args:
        job: The job's name.
        history: Its records, oldest first.
    """
    accepted = [record for record in history if record.run_accepted]
    metrics = [COST_METRIC, *sorted({record.quality for record in accepted if record.quality})]
    baselines = sorted({record.baseline for record in accepted})
    return DriftReport(
        job=job,
        runs=len(accepted),
        series=tuple(_series(accepted, variant, metric) for variant in baselines for metric in metrics),
    )


def _series(history: Sequence[HistoryRecord], variant: str, metric: str) -> Series:
    measured = [
        record for record in history if variant not in record.reused and record.values(variant, metric)
    ]
    means = np.array([np.mean(record.values(variant, metric)) for record in measured], dtype=np.float64)
    found = change_points(means)
    if isinstance(found, NotJudgeable):
        return Series(variant=variant, metric=metric, runs=len(measured), drifts=found)
    return Series(
        variant=variant,
        metric=metric,
        runs=len(measured),
        drifts=tuple(
            Drift(
                run_id=measured[point.index].run_id,
                before=point.before,
                after=point.after,
                p_value=point.p_value,
                causes=candidates(measured, point.index),
            )
            for point in found
        ),
    )
