"""Measures what checkpoints cost training, on rank 0: its stall, and how much slower steps beside it are."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from seedance_ops.training.metrics.records import CheckpointWriteRecord

_WINDOW = 100
"""Newest undisturbed steps whose median is the time of a step."""
_OBJECT = "object"


class Measured(NamedTuple):
    """Since the last call; see ``Observation``."""

    step_s: float | None
    costs_s: tuple[float, ...]
    near_s: tuple[float, ...]
    far_s: tuple[float, ...]


class CostMeter:
    """Told of every step, and of every checkpoint that begins or is committed."""

    def __init__(self) -> None:
        self._quiet: deque[float] = deque(maxlen=_WINDOW)
        self._beside: list[float] = []
        """Times of the steps beside which the open checkpoint was written."""
        self._stall_s: float | None = None
        """Of the open checkpoint, once the step after it is over."""
        self._open = self._was_writing = False
        self._costs_s: list[float] = []
        self._near_s: dict[int, float] = {}
        self._far_s: list[float] = []

    def step(self, step_s: float, stall_s: float, *, writing: bool) -> None:
        """A step is over.

        Args:
            step_s: Without the stall.
            stall_s: How long training stood still before it.
            writing: Whether a checkpoint is being written or uploaded now.
        """
        if self._open and self._stall_s is None:
            self._stall_s = stall_s
        if writing or self._was_writing:
            if self._open:
                self._beside.append(step_s)
        else:
            self._quiet.append(step_s)
        self._was_writing = writing

    def began(self) -> None:
        """A checkpoint has been staged; the one before ends here, if it has not yet."""
        self._end()
        self._open = self._was_writing = True
        self._stall_s, self._beside = None, []

    def committed(self, writes: Sequence[CheckpointWriteRecord]) -> None:
        """Checkpoints are durable in their tiers."""
        for write in writes:
            if write.tier == _OBJECT:
                self._far_s.append(write.write_s)
            else:
                self._near_s[write.step] = max(write.write_s, self._near_s.get(write.step, 0.0))

    def take(self) -> Measured:
        """What is new; a checkpoint that is still being written is not."""
        if not self._was_writing:
            self._end()
        quiet_s = self._usual_s()
        measured = Measured(quiet_s, tuple(self._costs_s), tuple(self._near_s.values()), tuple(self._far_s))
        self._costs_s, self._near_s, self._far_s = [], {}, []
        return measured

    def _usual_s(self) -> float | None:
        """Where something was always being written, all steps are usual."""
        times = self._quiet or self._beside
        return (median(times) or None) if times else None

    def _end(self) -> None:
        if self._open and self._stall_s is not None:
            usual_s = median(self._quiet) if self._quiet else None
            slower_s = sum(each - usual_s for each in self._beside) if usual_s is not None else 0.0
            self._costs_s.append(self._stall_s + max(0.0, slower_s))
        self._open = False
