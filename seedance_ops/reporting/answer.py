"""The answer in one sentence per variant: verdict, effect on cost and on quality, interval, margin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.results import Decision, GateResult, GateResults
from seedance_ops.quality.statistics import MetricComparison, Statistics
from seedance_ops.quality.wording import bound_of, finding_of, interval, number, percent
from seedance_ops.stats.outcomes import Interval, NotJudgeable
from seedance_ops.strict_model import StrictModel

_COSTS = ("usd_to_target_quality", "usd_per_run")


class Answer(StrictModel):
    """What is said of one variant, in one sentence that can be quoted."""

    variant: str
    outcome: Decision
    sentence: str


def answers_of(job: TrainingJob, statistics: Statistics, gates: GateResults) -> tuple[Answer, ...]:
    """One answer per variant that is not the baseline: what was accepted first, cheapest first."""
    answers = [
        (
            (verdict.outcome != "accepted", _cost_ratio(statistics, verdict.variant)),
            Answer(
                variant=verdict.variant,
                outcome=verdict.outcome,
                sentence=_sentence(job, statistics, gates.gates, verdict.variant, verdict.outcome),
            ),
        )
        for verdict in gates.verdicts
        if not verdict.of_baseline
    ]
    return tuple(answer for _, answer in sorted(answers, key=lambda pair: pair[0]))


def _sentence(
    job: TrainingJob, statistics: Statistics, gates: Sequence[GateResult], variant: str, outcome: Decision
) -> str:
    quality = job.workload.quality.metric if job.workload.quality else None
    parts = [_of_cost(statistics, variant)]
    if quality is not None:
        parts.append(_of_quality(statistics, gates, variant, quality))
    words = outcome.replace("_", " ")
    return f"{variant} is {words}: {'; '.join(filter(None, parts))}."


def _cost_ratio(statistics: Statistics, variant: str) -> float:
    row = _cost_row(statistics, variant)
    if row is None or isinstance(row.outcome, NotJudgeable) or row.outcome.ratio is None:
        return float("inf")
    return row.outcome.ratio.estimate


def _cost_row(statistics: Statistics, variant: str) -> MetricComparison | None:
    """The cost to the target where both variants reached it, else that of a run."""
    rows = [row for name in _COSTS if (row := statistics.comparison(variant, name)) is not None]
    return next(
        (row for row in rows if not isinstance(row.outcome, NotJudgeable)), rows[-1] if rows else None
    )


def _of_cost(statistics: Statistics, variant: str) -> str:
    row = _cost_row(statistics, variant)
    if row is None:
        return "its cost was not measured"
    return " ".join(_change(row))


def _of_quality(statistics: Statistics, gates: Sequence[GateResult], variant: str, quality: str) -> str:
    of_quality = [gate for gate in gates if (gate.variant, gate.metric) == (variant, quality)]
    gate = next((g for g in of_quality if g.condition == "equivalent_within"), next(iter(of_quality), None))
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
