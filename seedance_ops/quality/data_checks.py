"""Data checks within the judge's one validation: their rows, their expectations, what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seedance_ops.jobs.gates import Gate
from seedance_ops.quality.data.gather import FoundFact
from seedance_ops.quality.results import DataCheck, Outcome
from seedance_ops.quality.validation import Checked, Declared, Validation

SEVERITIES = {"error": "critical", "approval": "critical", "warning": "warning"}
"""The job's and the suite's words as Great Expectations has them."""


def rows_of(facts: Iterable[FoundFact]) -> list[dict[str, object]]:
    """The facts as rows of the frame that is validated."""
    return [
        {
            "gate": key_of(found),
            "variant": found.fact.variant,
            "checked": found.fact.checked,
            "violations": found.fact.violations,
        }
        for found in facts
    ]


def key_of(found: FoundFact) -> str:
    """What stands in the place of a gate's id; no gate's begins so."""
    return f"data:{found.check_id}"


def declared_of(facts: Iterable[FoundFact]) -> list[Declared]:
    """The suite's expectations, one for each variant: what is excused comes from the suite, not the data."""
    return [
        {
            "type": found.expectation.type,
            "kwargs": {
                "gate": key_of(found),
                "variant": found.fact.variant,
                "mostly": getattr(found.expectation.kwargs, "mostly", 1.0),
            },
            "severity": SEVERITIES[found.expectation.severity],
        }
        for found in facts
    ]


def data_checks_of(facts: Sequence[FoundFact], validation: Validation) -> tuple[DataCheck, ...]:
    """Each check's outcome; what the validation did not answer, or answered under a problem, is an error."""
    answers = {(check.kwargs.get("gate"), check.kwargs.get("variant")): check for check in validation.checked}
    return tuple(
        _check(found, answers.get((key_of(found), found.fact.variant)), validation.problems)
        for found in facts
    )


def bearing_on(variant: str, gates: Sequence[Gate], checks: Iterable[DataCheck]) -> list[DataCheck]:
    """The checks that do not hold, of the variant, and then of what these of its gates compare it to."""
    involved = {variant, *(gate.compared_to for gate in gates if gate.applies_to(variant))}
    found = [check for check in checks if check.variant in involved and check.outcome != "pass"]
    return sorted(found, key=lambda check: check.variant != variant)


def _check(found: FoundFact, answer: Checked | None, problems: Sequence[str]) -> DataCheck:
    fact = found.fact
    outcome, example = _outcome(found, answer, problems)
    return DataCheck(
        check=found.check_id,
        variant=fact.variant,
        severity=found.expectation.severity,
        outcome=outcome,
        checked=fact.checked,
        violations=fact.violations,
        example=example,
    )


def _outcome(found: FoundFact, answer: Checked | None, problems: Sequence[str]) -> tuple[Outcome, str | None]:
    if problems:
        return "error", "; ".join(problems)
    if answer is None or answer.outcome == "error":
        return "error", answer.error if answer else "it was not evaluated"
    if answer.outcome == "pass":
        return "pass", found.fact.example
    return "fail" if found.fact.checked else "not_judgeable", found.fact.example
