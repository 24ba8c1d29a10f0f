"""What a policy sees, what it remembers, and what it decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from seedance_ops.strict_model import StrictModel

_REMEMBERED = 5
"""Checkpoints whose costs count."""

Seconds = Annotated[float, Field(ge=0.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Observation(StrictModel):
    """All that rank 0 has measured since the decision before, and nothing else goes into a decision."""

    step: int = Field(ge=1)
    """The one just done."""
    steps_since_last: int = Field(ge=0)
    """Since the last checkpoint was begun, or since the start."""
    step_s: float | None = Field(default=None, gt=0.0)
    """Median of the newest steps beside which no checkpoint was written."""
    costs_s: tuple[Seconds, ...] = ()
    """Stall and slowdown of each checkpoint that has ended."""
    near_s: tuple[Seconds, ...] = ()
    """From the beginning of each checkpoint until it was committed on the nodes."""
    far_s: tuple[Seconds, ...] = ()
    """From there until it was committed in the object store."""
    busy_shares: tuple[Share, ...] = ()
    """The newest samples of how much of the time the disk had work, oldest first; none where unknown."""
    others_shares: tuple[Share, ...] = ()
    """The same without what the node's ranks wrote themselves."""


class IntervalState(StrictModel):
    """What a policy remembers between decisions; part of every checkpoint."""

    interval_steps: int = Field(ge=1)
    """In force."""
    step_s: float | None = Field(default=None, gt=0.0)
    """As observed last."""
    costs_s: tuple[Seconds, ...] = ()
    """Of the newest checkpoints, like the next two."""
    near_s: tuple[Seconds, ...] = ()
    far_s: tuple[Seconds, ...] = ()

    def learn(self, seen: Observation) -> IntervalState:
        """The same interval, with what was observed."""
        return IntervalState(
            interval_steps=self.interval_steps,
            step_s=seen.step_s or self.step_s,
            costs_s=(*self.costs_s, *seen.costs_s)[-_REMEMBERED:],
            near_s=(*self.near_s, *seen.near_s)[-_REMEMBERED:],
            far_s=(*self.far_s, *seen.far_s)[-_REMEMBERED:],
        )


class Pace(StrictModel):
    """Where the sequence of checkpoints stands; a resumed run goes on from it."""

    number: int = Field(ge=0)
    """Checkpoints begun so far; which tiers one goes to is counted with it."""
    state: IntervalState


@dataclass(frozen=True)
class Decision:
    """What becomes of a step at which the policy was asked."""

    begins: bool
    """Whether a checkpoint is taken now."""
    interval_steps: int
    """In force from here on."""
    next_step: int
    """When the policy is asked again."""
    retry_step: int
    """The same, where a checkpoint should begin and cannot: the one before is still being written."""
    reason: str


class Policy(Protocol):
    """A pure function of state and observation: the same ones give the same decision."""

    def start(self) -> IntervalState:
        """The state of a run that begins."""

    def first_step(self, step: int, state: IntervalState) -> int:
        """When it is first asked, where training starts or resumes after ``step``."""

    def decide(self, state: IntervalState, seen: Observation) -> tuple[IntervalState, Decision]:
        """Asked at a step that it has named itself."""
