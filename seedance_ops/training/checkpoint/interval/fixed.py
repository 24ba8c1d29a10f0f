"""A checkpoint at every multiple of the interval."""

from __future__ import annotations

from dataclasses import dataclass

from seedance_ops.training.checkpoint.interval.observation import Decision, IntervalState, Observation


@dataclass(frozen=True)
class Fixed:
    """Looks at nothing but the step."""

    base_steps: int

    def start(self) -> IntervalState:
        """The base, for good."""
        return IntervalState(interval_steps=self.base_steps)

    def first_step(self, step: int, state: IntervalState) -> int:  # noqa: ARG002 - nothing is remembered
        """The next multiple."""
        return (step // self.base_steps + 1) * self.base_steps

    def decide(self, state: IntervalState, seen: Observation) -> tuple[IntervalState, Decision]:
        """Always now."""
        then = self.first_step(seen.step, state)
        return state, Decision(True, self.base_steps, then, then, "fixed")  # noqa: FBT003
