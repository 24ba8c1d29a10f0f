"""The evidence of each gate and variant: the interval to hold against the bound, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from seedance_ops.jobs.gates import Gate
from seedance_ops.jobs.metrics import MetricDefinition, metrics_of
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.missing import MissingRun
from seedance_ops.quality.results import Scale
from seedance_ops.quality.statistics import Statistics, values_by_seed
from seedance_ops.stats.change import ChangeScale
from seedance_ops.stats.comparison import compare
from seedance_ops.stats.equivalence import NO_RATIO, Equivalence, change_of, equivalence
from seedance_ops.stats.level import level, level_p_value
from seedance_ops.stats.non_inferiority import BoundTest, Side, change_test, non_inferiority
from seedance_ops.stats.outcomes import Comparison, Design, Interval, NotJudgeable

_Found = tuple[Interval | NotJudgeable, Design | None, float | None]


@dataclass(frozen=True)
class Limits:
    """Where the interval must lie; ``strict``: inside, not on the edge, as an equivalence test demands."""

    lowest: float | None
    highest: float | None
    strict: bool
    scale: Scale
    bound: float


@dataclass(frozen=True)
class Evidence:
    """One gate on one variant, with what the runs say."""

    gate_id: str
    gate: Gate
    variant: str
    metric: MetricDefinition
    limits: Limits
    n: int
    interval: Interval | NotJudgeable
    design: Design | None = None
    p_value: float | None = None
    """One-sided, of the gate's test alone; none where counted or not judgeable."""
    p_adjusted: float | None = None
    """By Holm, over the variants that the gate tests (``families.corrected``)."""
    family: int = 1
    """How many variants those are."""


def gather(
    job: TrainingJob, runs: pd.DataFrame, statistics: Statistics, missing: Sequence[MissingRun]
) -> list[Evidence]:
    """The evidence of every gate for every variant that it applies to."""
    metrics = metrics_of(job)
    findings = _Findings(job, runs, statistics, missing)
    return [
        findings.evidence(_gate_id(position, gate), gate, metrics[gate.metric], variant)
        for position, gate in enumerate(job.gates)
        for variant in job.variants
        if gate.applies_to(variant)
    ]


def of_stopped(job: TrainingJob, stopped: Sequence[str]) -> list[Evidence]:
    """The gates on variants that a screening has stopped: no gate may vanish without a word."""
    metrics = metrics_of(job)
    return [
        Evidence(
            gate_id=_gate_id(position, gate),
            gate=gate,
            variant=variant,
            metric=metrics[gate.metric],
            limits=limits_of(gate, metrics[gate.metric].better),
            n=0,
            interval=NotJudgeable(reason="stopped by the screening"),
        )
        for position, gate in enumerate(job.gates)
        for variant in stopped
        if gate.applies_to(variant)
    ]


def _gate_id(position: int, gate: Gate) -> str:
    return f"{position}:{gate.metric}:{gate.condition}"


def limits_of(gate: Gate, better: Literal["lower", "higher", "none"]) -> Limits:
    """A gate's condition as the region in which the interval must lie.

    Args:
        gate: One gate.
        better: Which way its metric improves; only ``non_inferior_within`` asks. ``none`` reads as ``lower``
            for want of another: such a gate is never judgeable.
    """
    if gate.change_at_most is not None:
        scale, bound = _scaled(gate.change_at_most.relative, gate.change_at_most.absolute)
        return Limits(None, bound, strict=False, scale=scale, bound=bound)
    if gate.change_at_least is not None:
        scale, bound = _scaled(gate.change_at_least.relative, gate.change_at_least.absolute)
        return Limits(bound, None, strict=False, scale=scale, bound=bound)
    if gate.equivalent_within is not None:
        scale, bound = _scaled(gate.equivalent_within.relative, gate.equivalent_within.absolute)
        return Limits(-bound, bound, strict=True, scale=scale, bound=bound)
    if gate.non_inferior_within is not None:
        scale, margin = _scaled(gate.non_inferior_within.relative, gate.non_inferior_within.absolute)
        if better == "higher":
            return Limits(-margin, None, strict=False, scale=scale, bound=-margin)
        return Limits(None, margin, strict=False, scale=scale, bound=margin)
    limit = gate.at_most if gate.at_most is not None else gate.at_least
    assert limit is not None
    return Limits(gate.at_least, gate.at_most, strict=False, scale="level", bound=limit)


def _scaled(relative: float | None, absolute: float | None) -> tuple[Scale, float]:
    if relative is not None:
        return "relative", relative
    assert absolute is not None
    return "absolute", absolute


@dataclass(frozen=True)
class _Findings:
    """Everything that is known about a run."""

    job: TrainingJob
    runs: pd.DataFrame
    statistics: Statistics
    missing: Sequence[MissingRun]

    def evidence(self, gate_id: str, gate: Gate, metric: MetricDefinition, variant: str) -> Evidence:
        n = int((self.runs["variant"] == variant).sum())
        limits = limits_of(gate, metric.better)
        interval, design, p_value = self._found(gate, limits, metric, variant)
        return Evidence(gate_id, gate, variant, metric, limits, n, interval, design, p_value)

    def _found(self, gate: Gate, limits: Limits, metric: MetricDefinition, variant: str) -> _Found:
        involved = [variant] if gate.compared_to is None else [variant, gate.compared_to]
        if reason := self._incomplete(metric.name, involved):
            return NotJudgeable(reason=reason), None, None
        ours = values_by_seed(self.runs, variant, metric.name)
        if gate.compared_to is None:
            return _level(limits, metric, ours)
        if gate.equivalent_within is None and gate.non_inferior_within is None:
            return self._change(gate.compared_to, limits, metric, variant)
        theirs = values_by_seed(self.runs, gate.compared_to, metric.name)
        return margin_evidence(gate, limits, metric, ours, theirs)

    def _change(self, compared_to: str, limits: Limits, metric: MetricDefinition, variant: str) -> _Found:
        outcome = self._comparison(compared_to, metric, variant)
        if isinstance(outcome, NotJudgeable):
            return outcome, None, None
        scale: ChangeScale = "absolute" if limits.scale == "absolute" else "relative"
        if scale == "relative" and outcome.ratio is None:
            return NotJudgeable(reason=NO_RATIO), None, None
        p_value = self._p_of_change(compared_to, limits, metric, variant, scale)
        found = (
            outcome.difference if outcome.ratio is None or scale == "absolute" else change_of(outcome.ratio)
        )
        return found, outcome.design, p_value

    def _p_of_change(
        self, compared_to: str, limits: Limits, metric: MetricDefinition, variant: str, scale: ChangeScale
    ) -> float | None:
        if metric.nature == "measured" and scale == "relative" and limits.bound <= -1.0:
            return 0.0 if _side(limits) == "at_least" else 1.0  # every ratio is above 0, whatever the runs
        test = change_test(
            values_by_seed(self.runs, variant, metric.name),
            values_by_seed(self.runs, compared_to, metric.name),
            side=_side(limits),
            bound=limits.bound,
            scale=scale,
            pairs_by_seed=metric.pairs_by_seed,
            nature=metric.nature,
        )
        return test.p_value if isinstance(test, BoundTest) else None

    def _comparison(
        self, compared_to: str, metric: MetricDefinition, variant: str
    ) -> Comparison | NotJudgeable:
        """The one the report states, where there is one: a gate and a table must not differ."""
        stated = self.statistics.comparison(variant, metric.name)
        if stated is not None and stated.baseline == compared_to:
            return stated.outcome
        return compare(
            values_by_seed(self.runs, variant, metric.name),
            values_by_seed(self.runs, compared_to, metric.name),
            pairs_by_seed=metric.pairs_by_seed,
            nature=metric.nature,
        )

    def _incomplete(self, metric: str, variants: Sequence[str]) -> str | None:
        """Why these are not the runs that were planned: judging the survivors would favour them."""
        if metric not in self.runs.columns:
            return f"no run has a column {metric}"
        planned = sorted(self.job.repeats.seed_values)
        for variant in variants:
            if variant not in self.job.variants:
                return f"{variant} was stopped by the screening, so it has no runs to compare with"
            gone = [run for run in self.missing if run.variant == variant]
            if gone:
                first = f"seed {gone[0].seed}: {gone[0].reason}"
                return f"{variant} lacks {len(gone)} of {len(planned)} runs ({first})"
            seeds = sorted(int(seed) for seed in self.runs.loc[self.runs["variant"] == variant, "seed"])
            if seeds != planned:
                return f"{variant} has runs of seeds {seeds}, but {planned} were planned"
        return None


def _side(limits: Limits) -> Side:
    return "at_most" if limits.highest is not None else "at_least"


def _level(limits: Limits, metric: MetricDefinition, ours: pd.Series[float]) -> _Found:
    found = level(ours, nature=metric.nature)
    if metric.nature == "counted":
        return found, "exact", None
    p_value = level_p_value(ours, side=_side(limits), bound=limits.bound)
    return found, "welch", p_value if isinstance(p_value, float) else None


def margin_evidence(
    gate: Gate,
    limits: Limits,
    metric: MetricDefinition,
    ours: pd.Series[float],
    theirs: pd.Series[float],
) -> _Found:
    """The evidence of the two conditions with a margin, each by its own test."""
    scale: ChangeScale = "relative" if limits.scale == "relative" else "absolute"
    outcome: Equivalence | BoundTest | NotJudgeable
    if gate.equivalent_within is not None:
        outcome = equivalence(
            ours,
            theirs,
            margin=limits.bound,
            scale=scale,
            pairs_by_seed=metric.pairs_by_seed,
            nature=metric.nature,
        )
    elif metric.better == "none":
        outcome = NotJudgeable(reason=f"{metric.name} has no better direction, so nothing is worse")
    else:
        outcome = non_inferiority(
            ours,
            theirs,
            margin=abs(limits.bound),
            better=metric.better,
            scale=scale,
            pairs_by_seed=metric.pairs_by_seed,
            nature=metric.nature,
        )
    if isinstance(outcome, NotJudgeable):
        return outcome, None, None
    return outcome.effect, outcome.design, outcome.p_value
