"""Holds an audit's findings against its claims: one expectation a claim, one validation."""

from __future__ import annotations

from typing import Literal

import pandas as pd

from seedance_ops.audit.findings import AuditFindings
from seedance_ops.quality.validation import validate
from seedance_ops.strict_model import StrictModel

CLAIM_EXPECTATION = "expect_claim_to_agree"


class AuditVerdict(StrictModel):
    """What becomes of the publication."""

    accept: Literal["all", "report"]
    outcome: Literal["consistent", "contradicts_itself", "not_judgeable"]
    accepted: bool
    """Whether the run succeeds under ``accept``."""
    failed: tuple[str, ...]
    """Claims whose expectation failed."""
    problems: tuple[str, ...] = ()
    """What was wrong with the validation itself; with one, nothing is accepted."""


def judge_audit(findings: AuditFindings, accept: Literal["all", "report"]) -> AuditVerdict:
    """The verdict on a publication; a claim that could not be checked holds no more than a wrong one."""
    from seedance_ops.quality import claim_expectation  # noqa: F401 - registers the expectation

    rows = [
        finding.model_dump(include={"claim", "outcome", "stated", "right"}) for finding in findings.findings
    ]
    declared = [{"type": CLAIM_EXPECTATION, "kwargs": {"claim": row["claim"]}} for row in rows]
    frame = pd.DataFrame(rows, columns=["claim", "outcome", "stated", "right"]).astype("str")
    validation = validate(frame, declared, minimum_rows=len(rows))
    failed = tuple(str(check.kwargs["claim"]) for check in validation.checked if check.outcome != "pass")
    broken = tuple(f"{check.kwargs['claim']}: {check.error}" for check in validation.checked if check.error)
    problems = (*validation.problems, *broken)
    if problems:
        outcome: Literal["consistent", "contradicts_itself", "not_judgeable"] = "not_judgeable"
    elif findings.with_outcome("disagrees"):
        outcome = "contradicts_itself"
    else:
        outcome = "not_judgeable" if failed else "consistent"
    return AuditVerdict(
        accept=accept,
        outcome=outcome,
        accepted=not problems and (accept == "report" or outcome == "consistent"),
        failed=failed,
        problems=problems,
    )
