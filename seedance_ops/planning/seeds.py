"""How many seeds each gate needs, from the spread that earlier runs of the job showed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

import pandas as pd

from seedance_ops.jobs.gates import Gate
from seedance_ops.jobs.metrics import MetricDefinition, metrics_of
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.planning.history import HistoryRecord
from seedance_ops.stats.change import ChangeScale
from seedance_ops.stats.outcomes import NotJudgeable
from seedance_ops.stats.power import (
    Demand,
    SeedPlan,
    Spread,
    runs_needed,
    spread_of,
    spread_of_differences,
)
from seedance_ops.strict_model import StrictModel


class GateSeeds(StrictModel):
    """The seeds that one gate needs on one variant."""

    variant: str
    gate: str
    plan: SeedPlan | NotJudgeable
    enough: bool | None
    """Whether the job has as many; none where it cannot be said."""


def seeds_needed(job: TrainingJob, history: Sequence[HistoryRecord]) -> tuple[GateSeeds, ...]:
    """For every gate that compares measured metrics.

    The newest record that has both variants is the pilot. A change gate is planned for the change that the
    pilot saw, an equivalence and a non-inferiority for no change at all. Bounds on a metric itself and
    counted metrics need no planning: they are judged on their level, or exactly. Where a gate tests several
    variants, each is planned for Holm's strictest step.
    """
    return tuple(_needed(job, history))


def _needed(job: TrainingJob, history: Sequence[HistoryRecord]) -> Iterator[GateSeeds]:
    metrics = metrics_of(job)
    for gate in job.gates:
        metric = metrics[gate.metric]
        family = sum(gate.applies_to(variant) for variant in job.variants)
        demand = _demand(gate, metric)
        if demand is not None and family > 1:
            demand = replace(demand, alpha=demand.alpha / family)
        if demand is None or metric.nature == "counted" or gate.compared_to is None:
            continue
        for variant in job.variants:
            if gate.applies_to(variant):
                plan = _plan(gate, gate.compared_to, metric, variant, demand, history)
                yield GateSeeds(
                    variant=variant,
                    gate=f"{gate.metric} {gate.condition}",
                    plan=plan,
                    enough=plan.n_per_variant <= job.repeats.seeds if isinstance(plan, SeedPlan) else None,
                )


def _demand(gate: Gate, metric: MetricDefinition) -> Demand | None:
    if gate.change_at_most is not None:
        return Demand.change_at_most(_bound(gate.change_at_most.relative, gate.change_at_most.absolute))
    if gate.change_at_least is not None:
        return Demand.change_at_least(_bound(gate.change_at_least.relative, gate.change_at_least.absolute))
    if gate.equivalent_within is not None:
        return Demand.equivalent_within(
            _bound(gate.equivalent_within.relative, gate.equivalent_within.absolute)
        )
    if gate.non_inferior_within is not None and metric.better != "none":
        margin = _bound(gate.non_inferior_within.relative, gate.non_inferior_within.absolute)
        return Demand.non_inferior(margin, metric.better)
    return None


def _bound(relative: float | None, absolute: float | None) -> float:
    chosen = relative if relative is not None else absolute
    assert chosen is not None
    return chosen


def _plan(  # noqa: PLR0917
    gate: Gate,
    compared_to: str,
    metric: MetricDefinition,
    variant: str,
    demand: Demand,
    history: Sequence[HistoryRecord],
) -> SeedPlan | NotJudgeable:
    pilot = next(
        (
            (record, ours, theirs)
            for record in reversed(history)
            if (ours := record.values(variant, metric.name))
            and (theirs := record.values(compared_to, metric.name))
        ),
        None,
    )
    if pilot is None:
        return NotJudgeable(reason="no earlier run of the job has both variants")
    record, ours, theirs = pilot
    change = gate.change_at_most or gate.change_at_least or gate.equivalent_within or gate.non_inferior_within
    relative = change is not None and change.relative is not None
    paired = metric.pairs_by_seed and _same_seeds(record, variant, compared_to, len(ours), len(theirs))
    spread = _spread(ours, theirs, paired=paired, relative=relative, source=f"run {record.run_id}")
    expected = 0.0
    if gate.equivalent_within is None and gate.non_inferior_within is None:
        expected = fmean(ours) / fmean(theirs) - 1 if relative else fmean(ours) - fmean(theirs)
    return runs_needed(spread, demand, expected_change=expected)


def _spread(
    ours: Sequence[float], theirs: Sequence[float], *, paired: bool, relative: bool, source: str
) -> Spread | NotJudgeable:
    treatment, baseline = pd.Series(list(ours), dtype="float64"), pd.Series(list(theirs), dtype="float64")
    scale: ChangeScale = "relative" if relative else "absolute"
    if paired:
        return spread_of_differences(treatment, baseline, scale=scale, source=source)
    return spread_of([treatment, baseline], scale=scale, source=source)


def _same_seeds(record: HistoryRecord, variant: str, other: str, *lengths: int) -> bool:
    """Whether values pair by their place: the same seeds, and of none was the value left out."""
    seeds = record.seeds.get(variant)
    return seeds is not None and seeds == record.seeds.get(other) and set(lengths) == {len(seeds)}
