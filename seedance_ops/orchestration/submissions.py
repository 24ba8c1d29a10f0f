"""Which submission of a training comes next: the rules that keep a job from being paid for twice."""

from __future__ import annotations

from collections.abc import Iterable

from seedance_ops.launchers.base import LaunchState
from seedance_ops.launchers.record import LaunchRecord
from seedance_ops.strict_model import StrictModel


class Intent(StrictModel):
    """What is written to the task's state before a job is submitted, and completed when it has ended."""

    variant: str
    seed: int
    job_hash: str
    take: int = 1
    submission: int = 1
    preemptions: int = 0
    reattached: bool = False
    """Whether this try found the submission made already."""
    outcome: LaunchState | None = None
    """None from before the submission until its end has been recorded."""

    def ended(self, outcome: LaunchState) -> Intent:
        """The same submission, ended."""
        return self.model_copy(update={"outcome": outcome})

    def after_preemption(self) -> Intent:
        """The submission that follows when the cluster took the job's resources away."""
        return self.model_copy(
            update={
                "submission": self.submission + 1,
                "preemptions": self.preemptions + 1,
                "reattached": False,
                "outcome": None,
            }
        )

    def concerns(self, other: Intent) -> bool:
        """Whether both are about the same training: map indices move, and state rows stay with the index."""
        return (self.variant, self.seed, self.job_hash) == (other.variant, other.seed, other.job_hash)


def next_intent(wanted: Intent, remembered: Intent | None, records: Iterable[LaunchRecord]) -> Intent:
    """The submission to make, or to re-attach to.

    One whose end was never recorded may still run: its name is submitted again, which re-attaches. After a
    failure the next submission resumes the same take; after a success somebody cleared the task, and a new
    take trains from the start. Without memory, the records in the object store say what there was.

    Args:
        wanted: Variant, seed and job hash; its counters are ignored.
        remembered: What the task's state holds.
        records: What the object store holds about this variant and seed.
    """
    if remembered is not None and remembered.concerns(wanted):
        last, outcome = remembered, remembered.outcome
        if outcome is None:
            return remembered.model_copy(update={"reattached": True})
    else:
        newest = max(records, key=lambda record: record.submission, default=None)
        if newest is None:
            return wanted
        last = wanted.model_copy(update={"take": newest.take, "submission": newest.submission})
        outcome = newest.state
    return wanted.model_copy(
        update={
            "take": last.take + (outcome is LaunchState.SUCCEEDED),
            "submission": last.submission + 1,
        }
    )
