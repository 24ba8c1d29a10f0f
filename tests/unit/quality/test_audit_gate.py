"""An audit is judged by Great Expectations, one expectation a claim."""

from __future__ import annotations

import pytest

from seedance_ops.audit.findings import AuditFinding, AuditFindings
from seedance_ops.quality import audit_gate
from seedance_ops.quality.audit_gate import judge_audit


def findings(*outcomes):
    return AuditFindings(
        publication="p",
        title="P",
        source="here",
        findings=tuple(
            AuditFinding(
                claim=f"c{place}",
                kind="sum",
                where="w",
                quote=None,
                stated="1",
                outcome=outcome,
                right="2",
                explanation="1 + 1",
            )
            for place, outcome in enumerate(outcomes)
        ),
    )


@pytest.mark.parametrize(
    ("outcomes", "accept", "outcome", "accepted"),
    [
        (("agrees", "agrees"), "all", "consistent", True),
        (("agrees", "disagrees"), "all", "contradicts_itself", False),
        (("agrees", "disagrees"), "report", "contradicts_itself", True),
        (("agrees", "not_checkable"), "all", "not_judgeable", False),
    ],
)
def test_the_verdict(outcomes, accept, outcome, accepted):
    verdict = judge_audit(findings(*outcomes), accept)
    assert (verdict.outcome, verdict.accepted) == (outcome, accepted)
    assert verdict.failed == tuple(f"c{place}" for place, found in enumerate(outcomes) if found != "agrees")


def test_a_misspelt_expectation_accepts_nothing(monkeypatch):
    monkeypatch.setattr(audit_gate, "CLAIM_EXPECTATION", "expect_claim_to_aggree")
    verdict = judge_audit(findings("agrees"), "report")
    assert (verdict.outcome, verdict.accepted) == ("not_judgeable", False)
    assert "expect_claim_to_aggree" in verdict.problems[0]


def test_an_audit_of_nothing_accepts_nothing():
    assert not judge_audit(findings(), "report").accepted
