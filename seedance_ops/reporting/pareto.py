"""Cost against quality: every variant's place, and which variants another beats in both."""

from __future__ import annotations

from typing import Literal

from seedance_ops.jobs.metrics import metrics_of
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.statistics import Statistics
from seedance_ops.stats.outcomes import Interval
from seedance_ops.strict_model import StrictModel

COST_METRIC = "usd_per_run"
"""What the quality at the end of a run was paid with; the cost to a target bought no more than the target."""


class ParetoPoint(StrictModel):
    """One variant: means over its runs, each with its 95 % interval where there is one."""

    variant: str
    cost: float
    cost_interval: Interval | None = None
    quality: float
    quality_interval: Interval | None = None
    dominated_by: tuple[str, ...] = ()
    """Variants whose means are no worse in both and better in one."""


class Pareto(StrictModel):
    """The plane and its points, in the job's order."""

    cost_metric: str
    cost_unit: str
    quality_metric: str
    quality_unit: str
    better: Literal["lower", "higher", "none"]
    """Direction of quality; cost is better lower."""
    points: tuple[ParetoPoint, ...]


def pareto_of(job: TrainingJob, statistics: Statistics) -> Pareto | None:
    """The variants that have a cost and a quality; none without quality, or with one variant."""
    quality = job.workload.quality
    if quality is None:
        return None
    metrics = metrics_of(job)
    found = [
        point
        for variant in job.variants
        if (point := _point(statistics, variant, quality.metric)) is not None
    ]
    if len(found) < 2:
        return None
    sign = -1.0 if metrics[quality.metric].better == "higher" else 1.0
    return Pareto(
        cost_metric=COST_METRIC,
        cost_unit=metrics[COST_METRIC].unit,
        quality_metric=quality.metric,
        quality_unit=metrics[quality.metric].unit,
        better=metrics[quality.metric].better,
        points=tuple(
            point.model_copy(
                update={"dominated_by": tuple(o.variant for o in found if _dominates(o, point, sign))}
            )
            for point in found
        ),
    )


def _point(statistics: Statistics, variant: str, quality_metric: str) -> ParetoPoint | None:
    cost, quality = (statistics.level(variant, name) for name in (COST_METRIC, quality_metric))
    if cost is None or quality is None or cost.mean is None or quality.mean is None:
        return None
    return ParetoPoint(
        variant=variant,
        cost=cost.mean,
        cost_interval=cost.interval if isinstance(cost.interval, Interval) else None,
        quality=quality.mean,
        quality_interval=quality.interval if isinstance(quality.interval, Interval) else None,
    )


def dominates(ours: tuple[float, float], theirs: tuple[float, float]) -> bool:
    """Whether one place is no worse than the other in both and better in one; lower is better."""
    return ours != theirs and ours[0] <= theirs[0] and ours[1] <= theirs[1]


def _dominates(one: ParetoPoint, other: ParetoPoint, sign: float) -> bool:
    return dominates((one.cost, sign * one.quality), (other.cost, sign * other.quality))
