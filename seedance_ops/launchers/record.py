"""The record of one submission that the operator leaves beside the run's tables."""

from __future__ import annotations

from seedance_ops.launchers.base import FailureKind, LaunchState
from seedance_ops.strict_model import StrictModel


class LaunchRecord(StrictModel):
    """``launches/submission-001.json``: what cost and report need of one submission."""

    name: str
    launcher: str
    job: str
    run_id: str
    variant: str
    seed: int
    take: int
    submission: int
    state: LaunchState
    reason: str | None = None
    failure: FailureKind | None = None
    order: int
    """Position in the randomised order, from 0."""
    num_nodes: int
    processes_per_node: int
    accelerator: str
    nodes: tuple[str, ...] = ()
    """Where it ran; empty where it never started, and in records of older versions."""
    submitted_at_s: float
    started_at_s: float | None = None
    ended_at_s: float | None = None
    exit_codes: dict[str, int] = {}
    mean_cpu_utilisation: float | None = None
    """From the launcher's own sampling: for ``runtime: none``."""
    peak_memory_bytes: int | None = None

    @property
    def queue_s(self) -> float:
        """Seconds between submission and start: not billed."""
        return max(0.0, (self.started_at_s or self.submitted_at_s) - self.submitted_at_s)

    @property
    def run_s(self) -> float:
        """Seconds between start and end: billed; 0 for a job that never started."""
        if self.started_at_s is None or self.ended_at_s is None:
            return 0.0
        return max(0.0, self.ended_at_s - self.started_at_s)
