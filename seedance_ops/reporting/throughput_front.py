"""Throughput against quality: every variant's place, and which are beaten in both (R3.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from seedance_ops.jobs.metrics import metrics_of
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.statistics import MetricLevel, Statistics
from seedance_ops.reporting.pareto import dominates
from seedance_ops.stats.outcomes import Interval
from seedance_ops.strict_model import StrictModel

_THROUGHPUT = ("achieved_tflops", "samples_per_s")
"""The first that every variant has: FLOPs are not counted of every program."""
_PUBLISHED = Path("include/published/seedance-2.0.yaml")
_TABLE = "pareto"


class Level(StrictModel):
    """A mean over runs, and its 95 % interval where there are enough of them."""

    mean: float
    low: float | None = None
    high: float | None = None
    n: int


class FrontPoint(StrictModel):
    """One variant."""

    variant: str
    throughput: Level
    quality: Level
    dominated: bool = False
    dominated_by: tuple[str, ...] = ()
    """Variants whose means are no worse in both and better in one."""


class PublishedPoint(StrictModel):
    """Somebody's claim about a cluster of theirs: on another scale than any run here."""

    name: str
    throughput_tflops: float
    accuracy_drop_percent: float
    measured: Literal[False] = False
    """By this project."""
    source: str


class ThroughputFront(StrictModel):
    """The plane and its points, in the job's order."""

    job: str
    run_id: str
    throughput_metric: str
    throughput_unit: str
    quality_metric: str
    quality_unit: str
    quality_better: Literal["lower", "higher", "none"]
    """Throughput is better higher."""
    points: tuple[FrontPoint, ...]
    left_out: tuple[str, ...] = ()
    """Variants without a finished run that measured both."""
    published: tuple[PublishedPoint, ...] = ()


def throughput_front(
    job: TrainingJob, run_id: str, statistics: Statistics, published: tuple[PublishedPoint, ...] = ()
) -> ThroughputFront | None:
    """The front of a run; none of a job that has no quality metric, or whose runs measured none."""
    quality = job.workload.quality
    if quality is None:
        return None
    metrics = metrics_of(job)
    places = [
        (name, points) for name in _THROUGHPUT if (points := _points(job, statistics, name, quality.metric))
    ]
    if not places:
        return None
    name, found = max(places, key=lambda place: len(place[1]))  # of equally many the first
    sign = -1.0 if metrics[quality.metric].better == "higher" else 1.0
    lower_is_better = {point.variant: (-point.throughput.mean, sign * point.quality.mean) for point in found}
    return ThroughputFront(
        job=job.metadata.name,
        run_id=run_id,
        throughput_metric=name,
        throughput_unit=metrics[name].unit,
        quality_metric=quality.metric,
        quality_unit=metrics[quality.metric].unit,
        quality_better=metrics[quality.metric].better,
        points=tuple(_judged(point, lower_is_better) for point in found),
        left_out=tuple(variant for variant in job.variants if variant not in lower_is_better),
        published=published,
    )


def published_points(project: Path) -> tuple[PublishedPoint, ...]:
    """The report's two points; none where the project does not have its tables. Raises ``JobErrors``."""
    from seedance_ops.audit.printed import Printed
    from seedance_ops.jobs.published_file import load_published

    file = project / _PUBLISHED
    if not file.is_file():
        return ()
    table = load_published(file).tables.get(_TABLE)
    if table is None:
        return ()
    return tuple(
        PublishedPoint(
            name=name,
            throughput_tflops=float(Printed.parse(row["throughput"]).value),
            accuracy_drop_percent=float(Printed.parse(row["accuracy-drop"]).value),
            source=f"{_PUBLISHED}, {table.where}",
        )
        for name, row in table.rows.items()
    )


def _points(job: TrainingJob, statistics: Statistics, throughput: str, quality: str) -> list[FrontPoint]:
    found = []
    for variant in job.variants:
        across, up = (_level(statistics.level(variant, metric)) for metric in (throughput, quality))
        if across is not None and up is not None:
            found.append(FrontPoint(variant=variant, throughput=across, quality=up))
    return found


def _level(row: MetricLevel | None) -> Level | None:
    if row is None or row.mean is None:
        return None
    if not isinstance(row.interval, Interval):
        return Level(mean=row.mean, n=row.n)
    return Level(mean=row.mean, low=row.interval.low, high=row.interval.high, n=row.n)


def _judged(point: FrontPoint, places: dict[str, tuple[float, float]]) -> FrontPoint:
    by = tuple(other for other, place in places.items() if dominates(place, places[point.variant]))
    return point.model_copy(update={"dominated": bool(by), "dominated_by": by})
