"""The table that every cost discussion starts from: strategy → utilisation, cost, communication (R1.5)."""

from __future__ import annotations

from collections.abc import Iterable

from seedance_ops.jobs.metrics import metrics_of
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.results import GateResult
from seedance_ops.quality.statistics import Statistics
from seedance_ops.reporting.report_model import Cell, Column, Effect, StrategyRow
from seedance_ops.stats.equivalence import NO_RATIO
from seedance_ops.stats.outcomes import Interval, NotJudgeable

_TITLES = {
    "utilisation_mean": "Mean utilisation",
    "usd_per_tflops_hour": "USD per TFLOPS·h",
    "all_reduce_ms": "All-reduce time",
    "communication_wait_s": "Waiting in communication",
    "bytes_on_wire": "Bytes on wire",
    "usd_per_run": "USD per run",
    "mfu": "MFU",
    "energy_kwh": "Energy",
}
_HEADLINE = {"usd_to_target_quality": "USD to target quality"}
"""Before all others where the job names a target: what quality costs is what it asks."""
_FOREST = (
    "usd_to_target_quality",
    "usd_per_run",
    "usd_per_tflops_hour",
    "run_s",
    "step_time_ms",
    "communication_wait_s",
    "all_reduce_ms",
    "bytes_on_wire",
    "checkpoint_write_cv",
    "energy_kwh",
    "utilisation_mean",
    "utilisation_variance",
)


def columns_of(job: TrainingJob, statistics: Statistics) -> tuple[Column, ...]:
    """The columns for which some variant has a value."""
    metrics = metrics_of(job)
    quality = job.workload.quality
    has_target = quality is not None and quality.target is not None
    titles = _HEADLINE | _TITLES if has_target else dict(_TITLES)
    if quality:
        titles[quality.metric] = quality.metric
    measured = {row.metric for row in statistics.levels}
    return tuple(
        Column(
            metric=name,
            title=title,
            unit=metrics[name].unit,
            change_scale="absolute" if quality and name == quality.metric else "relative",
            exact=metrics[name].nature == "counted",
        )
        for name, title in titles.items()
        if name in measured
    )


def strategies_of(
    job: TrainingJob, statistics: Statistics, columns: Iterable[Column]
) -> tuple[StrategyRow, ...]:
    """One row per variant, in the job's order."""
    columns = tuple(columns)
    return tuple(
        StrategyRow(
            variant=variant,
            baseline=variant == statistics.baseline,
            cells=tuple(_cell(statistics, variant, column) for column in columns),
        )
        for variant in job.variants
    )


def effects_of(job: TrainingJob, statistics: Statistics, gates: Iterable[GateResult]) -> tuple[Effect, ...]:
    """The relative changes of the forest plot, by metric, each with its gate's bound or margin."""
    quality = job.workload.quality
    gates = [gate for gate in gates if gate.compared_to == statistics.baseline]
    bounds = {
        (gate.metric, gate.variant): _share(gate, statistics)
        for gate in gates
        if gate.condition == "non_inferior_within"
        or (gate.scale == "relative" and gate.condition != "equivalent_within")
    }
    margins = {
        (gate.metric, gate.variant): _share(gate, statistics)
        for gate in gates
        if gate.condition == "equivalent_within"
    }
    gated = {(gate.metric, gate.variant) for gate in gates}
    asked = [gate.metric for gate in gates]
    names = dict.fromkeys([*_FOREST, *([quality.metric] if quality else []), *asked])
    rows = [statistics.comparison(variant, name) for name in names for variant in job.variants]
    return tuple(
        Effect(
            metric=row.metric,
            variant=row.variant,
            change=row.outcome.ratio.estimate - 1,
            low=row.outcome.ratio.low - 1,
            high=row.outcome.ratio.high - 1,
            n=row.outcome.n_treatment,
            exact=row.outcome.design == "exact",
            bound=bounds.get((row.metric, row.variant)),
            margin=margins.get((row.metric, row.variant)),
            gated=(row.metric, row.variant) in gated,
        )
        for row in rows
        if row is not None and not isinstance(row.outcome, NotJudgeable) and row.outcome.ratio is not None
    )


def leading_metrics(columns: Iterable[Column], effects: Iterable[Effect]) -> set[str]:
    """The metrics that decide: cost, quality, and whatever a gate judges."""
    costs = {"usd_to_target_quality", "usd_per_run"}
    quality = {column.metric for column in columns if column.change_scale == "absolute"}
    return costs | quality | {effect.metric for effect in effects if effect.gated}


def _share(gate: GateResult, statistics: Statistics) -> float | None:
    """A gate's bound, or half width, on the axis of relative changes: exact, or by the baseline's mean."""
    if gate.scale == "relative":
        return gate.bound
    level = statistics.level(statistics.baseline, gate.metric)
    return gate.bound / abs(level.mean) if level is not None and level.mean else None


def _cell(statistics: Statistics, variant: str, column: Column) -> Cell:
    level = statistics.level(variant, column.metric)
    if level is None:
        return Cell(reason="not measured")
    change, reason = _change(statistics, variant, column)
    known = level.interval if isinstance(level.interval, Interval) else None
    return Cell(
        mean=level.mean,
        low=known.low if known else None,
        high=known.high if known else None,
        n=level.n,
        change=change.estimate if change else None,
        change_low=change.low if change else None,
        change_high=change.high if change else None,
        reason=level.interval.reason if isinstance(level.interval, NotJudgeable) else reason,
    )


def _change(statistics: Statistics, variant: str, column: Column) -> tuple[Interval | None, str | None]:
    row = statistics.comparison(variant, column.metric)
    if row is None:
        return None, None
    if isinstance(row.outcome, NotJudgeable):
        return None, row.outcome.reason
    if column.change_scale == "absolute":
        return row.outcome.difference, None
    ratio = row.outcome.ratio
    if ratio is None:
        return None, NO_RATIO
    return Interval(estimate=ratio.estimate - 1, low=ratio.low - 1, high=ratio.high - 1), None
