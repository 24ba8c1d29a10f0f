"""Every metric of every variant, and how it differs from the baseline's: what the report states."""

from __future__ import annotations

import pandas as pd

from seedance_ops.jobs.metrics import MetricDefinition, metrics_of
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.stats.comparison import compare
from seedance_ops.stats.level import level
from seedance_ops.stats.outcomes import Comparison, Interval, NotJudgeable
from seedance_ops.strict_model import StrictModel


class MetricLevel(StrictModel):
    """One metric in one variant."""

    variant: str
    metric: str
    unit: str
    n: int
    """Runs with a finite value."""
    mean: float | None
    """Over those; none where there are none."""
    sd: float | None
    """Sample standard deviation; none with fewer than two."""
    interval: Interval | NotJudgeable
    """Student's 95 % interval of the mean; the range, where counted."""


class MetricComparison(StrictModel):
    """One metric in one variant against the baseline."""

    variant: str
    metric: str
    unit: str
    baseline: str
    outcome: Comparison | NotJudgeable


class Statistics(StrictModel):
    """``statistics.json``."""

    baseline: str
    levels: tuple[MetricLevel, ...]
    comparisons: tuple[MetricComparison, ...]

    def level(self, variant: str, metric: str) -> MetricLevel | None:
        """One variant's level, if there is one."""
        return next((row for row in self.levels if (row.variant, row.metric) == (variant, metric)), None)

    def comparison(self, variant: str, metric: str) -> MetricComparison | None:
        """One variant's comparison with the baseline, if there is one."""
        return next((row for row in self.comparisons if (row.variant, row.metric) == (variant, metric)), None)


def summarise(job: TrainingJob, runs: pd.DataFrame) -> Statistics:
    """Levels and comparisons of every metric that any run measured.

    Args:
        job: Its variants, baseline and metrics.
        runs: The run table with its costs: one row per run.
    """
    metrics = [metric for metric in metrics_of(job).values() if _measured_at_all(runs, metric.name)]
    others = [variant for variant in job.variants if variant != job.baseline]
    return Statistics(
        baseline=job.baseline,
        levels=tuple(_level(runs, variant, metric) for variant in job.variants for metric in metrics),
        comparisons=tuple(
            MetricComparison(
                variant=variant,
                metric=metric.name,
                unit=metric.unit,
                baseline=job.baseline,
                outcome=compare(
                    values_by_seed(runs, variant, metric.name),
                    values_by_seed(runs, job.baseline, metric.name),
                    pairs_by_seed=metric.pairs_by_seed,
                    nature=metric.nature,
                ),
            )
            for variant in others
            for metric in metrics
        ),
    )


def values_by_seed(runs: pd.DataFrame, variant: str, metric: str) -> pd.Series[float]:
    """One value per run, indexed by its seed."""
    return runs.loc[runs["variant"] == variant].set_index("seed")[metric]


def _measured_at_all(runs: pd.DataFrame, metric: str) -> bool:
    return metric in runs.columns and bool(runs[metric].notna().any())


def _level(runs: pd.DataFrame, variant: str, metric: MetricDefinition) -> MetricLevel:
    values = values_by_seed(runs, variant, metric.name)
    finite = values[values.abs() < float("inf")]
    return MetricLevel(
        variant=variant,
        metric=metric.name,
        unit=metric.unit,
        n=len(finite),
        mean=float(finite.mean()) if len(finite) else None,
        sd=float(finite.std(ddof=1)) if len(finite) > 1 else None,
        interval=level(values, nature=metric.nature),
    )
