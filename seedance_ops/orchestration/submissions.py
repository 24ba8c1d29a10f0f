"""Which submission of a training comes next: the rules that keep a job from being paid for twice."""

from __future__ import annotations

from collections.abc import Iterable

from seedance_ops.launchers.base import LaunchState
from seedance_ops.launchers.record import LaunchRecord
from seedance_ops.strict_model import StrictModel

SPARE_TRIES = 3
"""Tries of Airflow's beyond ``limits.retries``, for its own accidents: a worker that was killed, or an end
that came before the scheduler had noticed the deferral. Such a try re-attaches, and launches nothing."""


class Intent(StrictModel):
    """What is written to the task's state before a job is submitted, and completed when it has ended."""

    variant: str
    seed: int
    job_hash: str
    take: int = 1
    submission: int = 1
    failures: int = 0
    """Submissions that failed before this one, since somebody last cleared the task."""
    preemptions: int = 0
    reattached: bool = False
    """Whether this try found the submission made already."""
    max_tries: int | None = None
    """Airflow's, when the try began: a retry leaves it as it is, and clearing the task raises it."""
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
    """The submission to make, to re-attach to, or, where its outcome is a success, to leave alone.

    One whose end was never recorded may still run: its name is submitted again, which re-attaches. One that
    has succeeded stands, unless somebody cleared the task since: then a new take trains from the start. After
    a failure the next submission resumes the same take. Without memory, the records in the object store say
    what there was.

    Args:
        wanted: Variant, seed, job hash and Airflow's ``max_tries``; its counters are ignored.
        remembered: What the task's state holds.
        records: What the object store holds about this variant and seed.
    """
    if remembered is None or not remembered.concerns(wanted):
        return _after_records(wanted, records)
    cleared = remembered.max_tries != wanted.max_tries
    if remembered.outcome is None:
        return remembered.model_copy(update={"reattached": True, "max_tries": wanted.max_tries})
    succeeded = remembered.outcome is LaunchState.SUCCEEDED
    if succeeded and not cleared:
        return remembered
    return wanted.model_copy(
        update={
            "take": remembered.take + succeeded,
            "submission": remembered.submission + 1,
            "failures": 0 if cleared or succeeded else remembered.failures + 1,
        }
    )


def _after_records(wanted: Intent, records: Iterable[LaunchRecord]) -> Intent:
    newest = max(records, key=lambda record: record.submission, default=None)
    if newest is None:
        return wanted
    return wanted.model_copy(
        update={
            "take": newest.take + (newest.state is LaunchState.SUCCEEDED),
            "submission": newest.submission + 1,
        }
    )
