"""Judges a run: evidence per gate, one validation, a verdict per variant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.data.gather import DataEvidence, FoundFact
from seedance_ops.quality.data_checks import SEVERITIES, bearing_on, data_checks_of, declared_of, rows_of
from seedance_ops.quality.evidence import Evidence, gather, of_stopped
from seedance_ops.quality.families import alpha_of, corrected
from seedance_ops.quality.missing import MissingRun
from seedance_ops.quality.results import (
    DataCheck,
    Decision,
    GateResult,
    GateResults,
    Outcome,
    Verdict,
    job_accepted,
)
from seedance_ops.quality.statistics import Statistics
from seedance_ops.quality.validation import GATE_EXPECTATION, Checked, Declared, Validation, validate
from seedance_ops.quality.wording import data_sentence_of, number, sentence_of
from seedance_ops.stats.outcomes import Interval, NotJudgeable

__all__ = ["GateResults", "job_accepted", "judge"]

EVIDENCE = {
    "gate": "str",
    "variant": "str",
    "estimate": "float64",
    "low": "float64",
    "high": "float64",
    "p_adjusted": "float64",
    "judgeable": "bool",
    "checked": "int64",
    "violations": "int64",
}
"""Columns and types of the frame that is validated: one row per gate, or data check, and variant."""
_NOT_COUNTED = {"checked": 0, "violations": 0}
_NO_INTERVAL = dict.fromkeys(("estimate", "low", "high", "p_adjusted"), math.nan)
_NO_DATA = DataEvidence(suite=None)


def judge(
    job: TrainingJob,
    runs: pd.DataFrame,
    statistics: Statistics,
    missing: Sequence[MissingRun],
    *,
    data: DataEvidence = _NO_DATA,
    stopped: Sequence[str] = (),
) -> GateResults:
    """The result of every gate and the verdict on every variant.

    Args:
        job: Its gates and ``accept``.
        runs: The run table with its costs.
        statistics: What ``summarise`` made of them.
        missing: The planned runs without a row: no gate that needs one of them can pass.
        data: What the suite of data expectations found in the run's tables; default: it is not looked at.
        stopped: Variants that a screening has stopped. They get no verdict, and no test of another variant is
            corrected for them: the screening's runs are not those that are judged. Their gates are listed
            all the same.
    """
    evidence = corrected(gather(job, runs, statistics, missing))
    validation = Validation((), data.problems)
    if not data.problems and (evidence or data.facts):
        validation = validate(
            frame_of(evidence, data.facts),
            [*suite_of(evidence), *declared_of(data.facts)],
            minimum_rows=len(evidence) + len(data.facts),
        )
    results = tuple(results_of(evidence, validation))
    checks = data_checks_of(data.facts, validation)
    verdicts = tuple(
        _with_data(
            _verdict(
                variant,
                [result for result in results if result.variant == variant],
                of_baseline=variant == job.baseline,
            ),
            job,
            checks,
        )
        for variant in job.variants
        if variant != job.baseline or any(result.variant == variant for result in results)
    )
    return GateResults(
        accept=job.accept,
        accepted=job_accepted(job.accept, verdicts),
        verdicts=verdicts,
        gates=(*results, *(_not_asked(item) for item in of_stopped(job, stopped))),
        data_checks=checks,
        suite_sha256=data.suite.sha256 if data.suite else None,
        problems=validation.problems,
    )


def frame_of(evidence: Sequence[Evidence], facts: Sequence[FoundFact] = ()) -> pd.DataFrame:
    """The evidence, and the facts about the data it rests on, as the frame that is validated."""
    rows: list[dict[str, object]] = [
        {
            "gate": item.gate_id,
            "variant": item.variant,
            **_NOT_COUNTED,
            **_ends(item.interval),
            "p_adjusted": math.nan if item.p_adjusted is None else item.p_adjusted,
            "judgeable": isinstance(item.interval, Interval),
        }
        for item in evidence
    ]
    rows += [{**_NO_INTERVAL, "judgeable": False, **row} for row in rows_of(facts)]
    return pd.DataFrame(rows, columns=list(EVIDENCE)).astype(EVIDENCE)


def suite_of(evidence: Sequence[Evidence]) -> list[Declared]:
    """The gates as expectations: the bounds come from the job, never from the data."""
    return [
        {
            "type": GATE_EXPECTATION,
            "kwargs": {
                "gate": item.gate_id,
                "variant": item.variant,
                "lowest": item.limits.lowest,
                "highest": item.limits.highest,
                "strict": item.limits.strict,
                "alpha": alpha_of(item.gate.condition) if item.family > 1 else None,
            },
            "severity": SEVERITIES[item.gate.severity],
        }
        for item in evidence
    ]


def results_of(evidence: Sequence[Evidence], validation: Validation) -> list[GateResult]:
    """Each gate's result; what the validation did not answer, or answered under a problem, is an error."""
    answers = {(check.kwargs.get("gate"), check.kwargs.get("variant")): check for check in validation.checked}
    return [
        _result(item, answers.get((item.gate_id, item.variant)), validation.problems) for item in evidence
    ]


def _result(item: Evidence, answer: Checked | None, problems: Sequence[str]) -> GateResult:
    outcome, reason, exceeds_by = _outcome(item, answer, problems)
    found = item.interval if isinstance(item.interval, Interval) else None
    return GateResult(
        gate=item.gate_id,
        variant=item.variant,
        metric=item.metric.name,
        unit=item.metric.unit,
        condition=item.gate.condition,
        scale=item.limits.scale,
        bound=item.limits.bound,
        compared_to=item.gate.compared_to,
        severity=item.gate.severity,
        outcome=outcome,
        n=item.n,
        estimate=found.estimate if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        design=item.design,
        p_value=item.p_value,
        p_adjusted=item.p_adjusted,
        family=item.family,
        exceeds_by=exceeds_by,
        reason=reason,
    )


def _not_asked(item: Evidence) -> GateResult:
    """A gate on a variant without runs: nothing was validated, so nothing can have gone wrong."""
    return _result(item, Checked({}, "fail", {}), ())


def _outcome(
    item: Evidence, answer: Checked | None, problems: Sequence[str]
) -> tuple[Outcome, str | None, float | None]:
    if problems:
        return "error", "; ".join(problems), None
    if answer is None:
        return "error", "it was not evaluated", None
    if answer.outcome == "error":
        return "error", answer.error, None
    if isinstance(item.interval, NotJudgeable):
        return "not_judgeable", item.interval.reason, None
    if answer.outcome == "pass":
        return "pass", None, None
    return "fail", *_why_not(item, answer)


def _why_not(item: Evidence, answer: Checked) -> tuple[str | None, float | None]:
    """Of a failed gate: how far it is over the bound, or why being within it does not suffice."""
    if not answer.result.get("holds_alone"):
        return None, max(0.0, float(answer.result.get("exceeds_by", 0.0)))
    alone, together = (
        "unknown" if p_value is None else number(p_value) for p_value in (item.p_value, item.p_adjusted)
    )
    reason = (
        f"holds alone (p = {alone}), but not among the {item.family} variants that the gate tests: "
        f"Holm's adjusted p = {together}, wanted at most {alpha_of(item.gate.condition):g}"
    )
    return reason, None


def _verdict(variant: str, results: Sequence[GateResult], *, of_baseline: bool) -> Verdict:
    """Rejected by a gate that fails; not judgeable where one has no answer; else accepted.

    Where only gates of severity ``approval`` fail, a person decides; not about the baseline, which is nothing
    to accept.
    """
    sentences = _Sentences.of(results)
    if not sentences.demanding:
        outcome: Decision = "not_judgeable"
        reasons: tuple[str, ...] = ("no gate of severity error or approval applies to it",)
    elif sentences.failed or (of_baseline and sentences.to_approve and not sentences.unanswered):
        outcome = "rejected"
        reasons = sentences.failed + sentences.to_approve + sentences.unanswered
    elif sentences.unanswered:
        outcome, reasons = "not_judgeable", sentences.unanswered + sentences.to_approve
    elif sentences.to_approve:
        outcome, reasons = "needs_approval", sentences.to_approve
    else:
        outcome, reasons = "accepted", ()
    return Verdict(
        variant=variant,
        outcome=outcome,
        of_baseline=of_baseline,
        reasons=reasons,
        asked=sentences.to_approve if outcome == "needs_approval" else (),
        warnings=sentences.warnings,
    )


@dataclass(frozen=True)
class _Sentences:
    """What does not hold of one variant, by what it means for the verdict."""

    demanding: bool
    failed: tuple[str, ...]
    to_approve: tuple[str, ...]
    unanswered: tuple[str, ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, results: Sequence[GateResult]) -> _Sentences:
        demanded = [result for result in results if result.severity != "warning"]
        failed = [result for result in demanded if result.outcome == "fail"]
        return cls(
            demanding=bool(demanded),
            failed=tuple(sentence_of(result) for result in failed if result.severity == "error"),
            to_approve=tuple(sentence_of(result) for result in failed if result.severity == "approval"),
            unanswered=tuple(
                sentence_of(result) for result in demanded if result.outcome in ("error", "not_judgeable")
            ),
            warnings=tuple(
                sentence_of(result)
                for result in results
                if result.severity == "warning" and result.outcome != "pass"
            ),
        )


def _with_data(verdict: Verdict, job: TrainingJob, checks: Sequence[DataCheck]) -> Verdict:
    """The verdict, unless the data that it rests on are not what they must be: then there is none."""
    demanding = [gate for gate in job.gates if gate.demands]
    unsound = [
        data_sentence_of(check)
        for check in bearing_on(verdict.variant, demanding, checks)
        if check.severity == "error"
    ]
    doubts = [
        sentence
        for check in bearing_on(verdict.variant, job.gates, checks)
        if (sentence := data_sentence_of(check)) not in unsound
    ]
    changes: dict[str, object] = {"warnings": (*verdict.warnings, *doubts)}
    if unsound:
        changes |= {"outcome": "not_judgeable", "reasons": (*unsound, *verdict.reasons), "asked": ()}
    return verdict.model_copy(update=changes)


def _ends(found: Interval | NotJudgeable) -> dict[str, float]:
    if isinstance(found, NotJudgeable):
        return dict.fromkeys(("estimate", "low", "high"), math.nan)
    return {"estimate": found.estimate, "low": found.low, "high": found.high}
