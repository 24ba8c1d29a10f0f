"""What a person said of variants that some gate of severity ``approval`` does not let pass."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Literal

from pydantic import AwareDatetime

from seedance_ops.quality.results import GateResults, Verdict, job_accepted
from seedance_ops.strict_model import StrictModel

if TYPE_CHECKING:
    from seedance_ops.jobs.run_store import RunStore

REJECT = "Reject"
"""The option that accepts none of the variants asked about."""
_APPROVE = "Approve "


class Approval(StrictModel):
    """The answer about one variant."""

    variant: str
    asked: tuple[str, ...]
    """The findings that the answer is about; it holds for no others."""
    decision: Literal["approved", "rejected", "unanswered"]
    """``unanswered``: nobody said anything until the deadline, so the variant is not accepted."""
    by: str | None = None
    """The name of who answered."""
    by_id: str | None = None
    """Their id in Airflow."""
    at: AwareDatetime | None = None
    """When."""


class Approvals(StrictModel):
    """``approvals.json``."""

    approvals: tuple[Approval, ...] = ()
    fails_the_run: bool = False
    """Whether nobody answered, and the job says ``on_timeout: fail``: then ``accept`` is not asked."""


def options_for(waiting: Iterable[Verdict]) -> list[str]:
    """What a person may choose: each variant by itself, or none of them."""
    return [*(f"{_APPROVE}{verdict.variant}" for verdict in waiting), REJECT]


def approvals_of(
    waiting: Iterable[Verdict],
    chosen: Collection[str],
    *,
    by: str | None,
    by_id: str | None,
    at: AwareDatetime | None,
) -> Approvals:
    """The answers that a choice among ``options_for`` gives.

    A variant that was not chosen is rejected, and so is each where ``REJECT`` was chosen beside it: what
    contradicts itself approves nothing. A choice that nobody made (``by_id`` is None) is no answer.
    """
    return Approvals(
        approvals=tuple(
            Approval(
                variant=verdict.variant,
                asked=verdict.asked,
                decision=_decision(verdict.variant, chosen, by_id),
                by=by or by_id,
                by_id=by_id,
                at=at,
            )
            for verdict in waiting
        )
    )


def answered(results: GateResults, approvals: Approvals) -> GateResults:
    """The results with a person's answers in them, as the run's last word.

    An answer holds for the very findings that it was given about. What is rejected or not judgeable was
    never asked about, and stays so.
    """
    given = {approval.variant: approval for approval in approvals.approvals}
    verdicts = tuple(_with_answer(verdict, given.get(verdict.variant)) for verdict in results.verdicts)
    return results.model_copy(
        update={
            "verdicts": verdicts,
            "accepted": job_accepted(results.accept, verdicts) and not approvals.fails_the_run,
        }
    )


def answers_in(run: RunStore) -> Approvals:
    """What was answered in a run; nothing where nobody was asked, or not yet."""
    from seedance_ops.storage.errors import ObjectMissing

    try:
        return run.read("approvals.json", Approvals)
    except ObjectMissing:
        return Approvals()


def _decision(
    variant: str, chosen: Collection[str], by_id: str | None
) -> Literal["approved", "rejected", "unanswered"]:
    if by_id is None:
        return "unanswered"
    return "approved" if f"{_APPROVE}{variant}" in chosen and REJECT not in chosen else "rejected"


def _with_answer(verdict: Verdict, approval: Approval | None) -> Verdict:
    if verdict.outcome != "needs_approval" or approval is None or approval.asked != verdict.asked:
        return verdict
    outcome = "accepted" if approval.decision == "approved" else "rejected"
    return verdict.model_copy(update={"outcome": outcome, "reasons": (_said(approval), *verdict.asked)})


def _said(approval: Approval) -> str:
    if approval.decision == "unanswered":
        return "nobody answered by the deadline"
    when = f" at {approval.at:%Y-%m-%d %H:%M} {approval.at.tzname()}" if approval.at else ""
    return f"{approval.decision} by {approval.by}{when}"
