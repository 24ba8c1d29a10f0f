"""Failures of a launched job as exception types, and what a retry can do about each."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import ExceptionRetryPolicy, RetryAction, RetryRule

from seedance_ops.launchers.base import FailureKind, LaunchState, LaunchStatus


class TrainingFailed(RuntimeError):  # noqa: N818 - names an outcome
    """A launched job did not succeed."""


class OutOfMemory(TrainingFailed):
    """The job needs more memory than it has: the same again would fail the same."""


class BadInput(TrainingFailed):
    """The job refused its plan, arguments or environment."""


class Cancelled(TrainingFailed):
    """Somebody cancelled the job."""


class DeadlineExceeded(TrainingFailed):
    """The job waited or ran longer than ``limits`` allow, and was cancelled."""


class RetriesExhausted(TrainingFailed):
    """The job failed more often than ``limits.retries`` allow."""


class CommunicationFailed(TrainingFailed):
    """A collective or a rendezvous failed."""


class NodeLost(TrainingFailed):
    """The job's processes vanished."""


class StorageFailed(TrainingFailed):
    """The object store or a disk failed under the job."""


_BY_KIND: dict[FailureKind, type[TrainingFailed]] = {
    FailureKind.OUT_OF_MEMORY: OutOfMemory,
    FailureKind.BAD_INPUT: BadInput,
    FailureKind.COMMUNICATION: CommunicationFailed,
    FailureKind.NODE_LOST: NodeLost,
    FailureKind.STORAGE: StorageFailed,
    FailureKind.DEADLINE: DeadlineExceeded,
    FailureKind.PROGRAM: TrainingFailed,
}


def failure_of(status: LaunchStatus, name: str) -> TrainingFailed:
    """The exception for a job that ended without success."""
    kind = (
        Cancelled
        if status.state is LaunchState.CANCELLED
        else _BY_KIND[status.failure or FailureKind.PROGRAM]
    )
    return kind(f"{name} {status.state}: {status.reason or 'no reason given'}")


def retry_policy(delay: timedelta = timedelta(seconds=10)) -> ExceptionRetryPolicy:
    """Fail at once where a retry cannot help; wait a little where the cluster must recover first."""
    return ExceptionRetryPolicy(
        rules=[
            RetryRule(
                exception=[OutOfMemory, BadInput, Cancelled, DeadlineExceeded, RetriesExhausted],
                action=RetryAction.FAIL,
                reason="another try would not help, or is not allowed",
            ),
            RetryRule(
                exception=[CommunicationFailed, NodeLost, StorageFailed],
                action=RetryAction.RETRY,
                retry_delay=delay,
                reason="resumes from the newest checkpoint",
            ),
        ]
    )
