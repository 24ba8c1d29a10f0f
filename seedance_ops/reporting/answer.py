"""The answer in one sentence per variant: verdict, effect on cost and on quality, interval, margin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seedance_ops.cost.run_cost import COST_METRICS
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.results import Decision, GateResult, GateResults, Verdict
from seedance_ops.quality.statistics import MetricComparison, Statistics
from seedance_ops.quality.wording import bound_of, finding_of, interval, number, percent
from seedance_ops.stats.outcomes import Interval, NotJudgeable
from seedance_ops.strict_model import StrictModel


class Answer(StrictModel):
    """What is said of one variant, in one sentence that can be quoted."""

    variant: str
    outcome: Decision
    sentence: str


def answers_of(job: TrainingJob, statistics: Statistics, gates: GateResults) -> tuple[Answer, ...]:
    """One answer per variant that is not the baseline: what was accepted first, cheapest first.

    The cost is that which a gate judges; without such a gate the cost to the target where both variants
    reached it, else that of a run.
    """
    costs = _cost_metrics(job)
    answers = [
        (
            (verdict.outcome != "accepted", _cost_ratio(statistics, costs, verdict.variant)),
            Answer(
                variant=verdict.variant,
                outcome=verdict.outcome,
                sentence=_sentence(job, statistics, gates.gates, verdict),
            ),
        )
        for verdict in gates.verdicts
        if not verdict.of_baseline
    ]
    return tuple(answer for _, answer in sorted(answers, key=lambda pair: pair[0]))


def _cost_metrics(job: TrainingJob) -> tuple[str, ...]:
    """Every metric that may stand for the cost, the best first."""
    gated = [gate.metric for gate in job.gates if gate.metric in COST_METRICS]
    return tuple(dict.fromkeys([*gated, "usd_to_target_quality", "usd_per_run"]))


def _sentence(job: TrainingJob, statistics: Statistics, gates: Sequence[GateResult], verdict: Verdict) -> str:
    of_variant = [gate for gate in gates if gate.variant == verdict.variant]
    parts = [_of_cost(statistics, of_variant, _cost_metrics(job), verdict.variant)]
    if job.workload.quality is not None:
        parts.append(_of_quality(statistics, of_variant, verdict.variant, job.workload.quality.metric))
    words = (
        "waiting for approval" if verdict.outcome == "needs_approval" else verdict.outcome.replace("_", " ")
    )
    return f"{verdict.variant} is {words}: {'; '.join(filter(None, parts))}."


def _cost_ratio(statistics: Statistics, costs: Sequence[str], variant: str) -> float:
    row = _cost_row(statistics, costs, variant)
    if row is None or isinstance(row.outcome, NotJudgeable) or row.outcome.ratio is None:
        return float("inf")
    return row.outcome.ratio.estimate


def _cost_row(statistics: Statistics, costs: Sequence[str], variant: str) -> MetricComparison | None:
    rows = [row for name in costs if (row := statistics.comparison(variant, name)) is not None]
    return next(
        (row for row in rows if not isinstance(row.outcome, NotJudgeable)), rows[-1] if rows else None
    )


def _of_cost(statistics: Statistics, gates: Sequence[GateResult], costs: Sequence[str], variant: str) -> str:
    row = _cost_row(statistics, costs, variant)
    if row is None:
        return "its cost was not measured"
    gate = next(
        (gate for gate in gates if gate.metric == row.metric and gate.compared_to == row.baseline), None
    )
    if gate is not None and gate.estimate is not None:
        return f"{gate.metric} {finding_of(gate)}, wanted {bound_of(gate)}"
    return " ".join(_change(row))


def _of_quality(statistics: Statistics, gates: Sequence[GateResult], variant: str, quality: str) -> str:
    of_quality = [gate for gate in gates if gate.metric == quality]
    gate = next((g for g in of_quality if g.condition.endswith("_within")), next(iter(of_quality), None))
    if gate is not None and gate.estimate is not None:
        return f"{quality} {finding_of(gate)}, wanted {bound_of(gate)}"
    if gate is not None:
        return f"{quality} is not judgeable: {gate.reason}"
    row = statistics.comparison(variant, quality)
    return " ".join(_change(row, absolute=True)) if row else ""


def _change(row: MetricComparison, *, absolute: bool = False) -> Iterator[str]:
    yield row.metric
    if isinstance(row.outcome, NotJudgeable):
        yield f"is not judgeable: {row.outcome.reason}"
        return
    if absolute or row.outcome.ratio is None:
        found = row.outcome.difference
        yield number(found.estimate, signed=True)
        yield interval(found.low, found.high, signed=True)
    else:
        ratio = row.outcome.ratio
        shares = Interval(estimate=ratio.estimate - 1, low=ratio.low - 1, high=ratio.high - 1)
        yield percent(shares.estimate)
        yield interval(shares.low, shares.high, as_percent=True)
    yield "over all runs" if row.outcome.design == "exact" else "at 95 %"
