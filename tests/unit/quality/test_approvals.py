"""A person decides what gates of severity approval do not let pass, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.quality.approvals import REJECT, Approvals, answered, approvals_of, options_for
from seedance_ops.quality.judge import judge
from seedance_ops.quality.missing import MissingRun
from seedance_ops.quality.results import GateResults, Verdict
from seedance_ops.quality.statistics import summarise

LOSS = "{metric: val_loss, compared_to: baseline, equivalent_within: {absolute: 0.05}, severity: SEVERITY}"
ASK = LOSS.replace("SEVERITY", "approval")
BYTES = "{metric: bytes_on_wire, compared_to: baseline, change_at_most: {relative: -0.45}}"
TOO_FEW_BYTES = BYTES.replace("-0.45", "-0.99")
LEVEL = "{metric: val_loss, at_most: 1.0, severity: approval}"
AT = datetime(2026, 1, 2, 10, 0, tzinfo=UTC)


def judged(job, runs, missing=()):
    return judge(job, runs, summarise(job, runs), missing)


def waiting(*variants: str) -> GateResults:
    verdicts = tuple(
        Verdict(variant=name, outcome="needs_approval", reasons=("loss +1",), asked=("loss +1",))
        for name in variants
    )
    return GateResults(accept="any", accepted=False, verdicts=verdicts, gates=())


def after(results: GateResults, *chosen: str, by_id: str | None = "ada") -> GateResults:
    given_answer = approvals_of(results.verdicts, chosen, by="Ada", by_id=by_id, at=AT)
    return answered(results, given_answer)


def test_only_a_failed_approval_gate_asks(job, runs):
    results = judged(job(BYTES, ASK), runs(loss=0.3))
    (verdict,) = results.verdicts
    assert verdict.outcome == "needs_approval"
    assert verdict.asked == verdict.reasons
    assert "val_loss" in verdict.asked[0]
    assert not results.accepted


def test_nobody_is_asked_where_every_gate_holds(job, runs):
    (verdict,) = judged(job(BYTES, ASK), runs()).verdicts
    assert (verdict.outcome, verdict.asked) == ("accepted", ())


def test_an_approval_gate_alone_is_enough_to_accept(job, runs):
    assert judged(job(ASK), runs()).accepted


def test_what_is_rejected_anyway_is_not_asked_about(job, runs):
    (verdict,) = judged(job(TOO_FEW_BYTES, ASK), runs(loss=0.3)).verdicts
    assert (verdict.outcome, verdict.asked) == ("rejected", ())
    assert [reason.split()[0] for reason in verdict.reasons] == ["bytes_on_wire", "val_loss"]


def test_what_is_not_judgeable_cannot_be_approved(job, runs):
    missing = (MissingRun(variant="topk", seed=0, reason="failed"),)
    results = judged(job(ASK), runs(loss=0.3), missing)
    (verdict,) = results.verdicts
    assert (verdict.outcome, verdict.asked) == ("not_judgeable", ())
    assert after(results, "Approve topk") == results


def test_the_baseline_is_nothing_to_approve(job, runs):
    outcomes = {verdict.variant: verdict.outcome for verdict in judged(job(LEVEL), runs()).verdicts}
    assert outcomes == {"baseline": "rejected", "topk": "needs_approval"}


def test_an_approved_variant_is_accepted_and_says_by_whom():
    results = after(waiting("topk"), "Approve topk")
    assert results.accepted
    assert results.verdicts[0].summary == "accepted: approved by Ada at 2026-01-02 10:00 UTC; loss +1"


def test_a_rejected_variant_says_by_whom():
    results = after(waiting("topk"), REJECT)
    assert not results.accepted
    assert results.verdicts[0].summary == "rejected: rejected by Ada at 2026-01-02 10:00 UTC; loss +1"


@pytest.mark.parametrize("chosen", [(), (REJECT,), ("Approve topk",)])
def test_what_nobody_chose_approves_nothing(chosen):
    results = after(waiting("topk"), *chosen, by_id=None)
    assert results.verdicts[0].outcome == "rejected"
    assert results.verdicts[0].reasons == ("nobody answered by the deadline", "loss +1")


def test_each_variant_is_chosen_by_itself():
    results = waiting("topk", "bf16")
    assert options_for(results.verdicts) == ["Approve topk", "Approve bf16", "Reject"]
    outcomes = [verdict.outcome for verdict in after(results, "Approve bf16").verdicts]
    assert outcomes == ["rejected", "accepted"]


def test_an_answer_holds_for_no_other_findings():
    approvals = approvals_of(waiting("topk").verdicts, ["Approve topk"], by="Ada", by_id="ada", at=AT)
    other = waiting("topk")
    worse = other.model_copy(
        update={"verdicts": (other.verdicts[0].model_copy(update={"asked": ("loss +9",)}),)}
    )
    assert answered(worse, approvals) == worse
    assert answered(other, Approvals()) == other


@given(
    chosen=st.sets(st.sampled_from(["Approve a", "Approve b", "Approve c", REJECT])),
    by_id=st.sampled_from(["ada", None]),
)
def test_exactly_what_was_chosen_by_somebody_is_accepted(chosen, by_id):
    results = after(waiting("a", "b", "c"), *chosen, by_id=by_id)
    approved = {name for name in "abc" if f"Approve {name}" in chosen}
    expected = approved if by_id and REJECT not in chosen else set()
    assert {verdict.variant for verdict in results.verdicts if verdict.is_accepted} == expected
    assert results.accepted == bool(expected)
    assert all(verdict.outcome != "needs_approval" for verdict in results.verdicts)


def test_where_nobody_answers_and_the_job_says_fail_not_even_accept_report_accepts():
    results = GateResults(accept="report", accepted=True, verdicts=(), gates=())
    assert answered(results, Approvals()).accepted
    assert not answered(results, Approvals(fails_the_run=True)).accepted
