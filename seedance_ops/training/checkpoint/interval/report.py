"""The published controller, to the letter (R3.3).

Its signal is called an io-wait share. That of ``/proc/stat`` stays near 0 while a disk is saturated, so the
disk's own share of time with work is taken, from ``/proc/diskstats``, this job's writes included.
"""

from __future__ import annotations

from dataclasses import dataclass

from seedance_ops.training.checkpoint.interval.config import ReportInterval
from seedance_ops.training.checkpoint.interval.observation import Decision, IntervalState, Observation


@dataclass(frozen=True)
class Report:
    """Asked every ``base_steps`` steps, so that the interval follows the disk in both directions."""

    config: ReportInterval
    base_steps: int

    def start(self) -> IntervalState:
        """The base."""
        return IntervalState(interval_steps=self.base_steps)

    def first_step(self, step: int, state: IntervalState) -> int:  # noqa: ARG002 - the disk alone counts
        """The earliest step at which a checkpoint can be due."""
        return step + self.base_steps

    def decide(self, state: IntervalState, seen: Observation) -> tuple[IntervalState, Decision]:
        """``max(floor_steps, 2 * base_steps)`` where the newest samples all exceed the threshold, or base.

        Where the disk cannot be watched it is the base.
        """
        newest = seen.busy_shares[-self.config.consecutive :]
        busy = len(newest) == self.config.consecutive and min(newest) > self.config.threshold
        interval = max(self.config.floor_steps, 2 * self.base_steps) if busy else self.base_steps
        missing = interval - seen.steps_since_last
        begins = missing <= 0
        then = seen.step + (self.base_steps if begins else min(self.base_steps, missing))
        why = self._reason(newest, busy=busy)
        decision = Decision(begins, interval, then, seen.step + self.base_steps, why)
        return state.model_copy(update={"interval_steps": interval}), decision

    def _reason(self, newest: tuple[float, ...], *, busy: bool) -> str:
        if not newest:
            return "how busy the disk is, is unknown"
        shares = ", ".join(f"{share:.2f}" for share in newest)
        count = "all" if busy else "not all"
        return f"the disk was busy {shares} of the time, {count} of them above {self.config.threshold:g}"
