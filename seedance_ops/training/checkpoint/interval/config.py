"""How the interval between checkpoints is chosen; ``interval_steps`` beside it is every policy's base."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from seedance_ops.strict_model import StrictModel

_WIDEST = 10
"""``max_interval_steps`` in bases, where none is written."""


class FixedInterval(StrictModel):
    """A checkpoint every ``interval_steps`` steps."""

    policy: Literal["fixed"] = "fixed"
    """Whatever happens."""


class ReportInterval(StrictModel):
    """The published controller (R3.3): while the disk is busy, ``max(floor_steps, 2 * interval_steps)``."""

    policy: Literal["report"]
    """By how busy the disk is."""
    threshold: float = Field(default=0.65, gt=0.0, lt=1.0)
    """Share of a second in which the disk had work, above which a sample is busy."""
    consecutive: int = Field(default=3, ge=1, le=60)
    """How many samples in a row, one a second, must be busy."""
    floor_steps: int = Field(default=50, ge=1)
    """Least interval while the disk is busy."""


class CheckpointPrice(StrictModel):
    """Makes the interval weigh money instead of time alone."""

    usd_per_hour: float = Field(gt=0.0)
    """Of all that trains, in USD an hour."""
    usd_per_checkpoint: float = Field(ge=0.0)
    """Of one checkpoint beside training's time: requests, storage until it is deleted, in USD."""

    @property
    def extra_cost_s(self) -> float:
        """The seconds of training that a checkpoint's own price would buy."""
        return self.usd_per_checkpoint / self.usd_per_hour * 3600.0


class AdaptiveInterval(StrictModel):
    """Young's and Daly's interval, from the cost of a checkpoint and the time to durable as measured."""

    policy: Literal["adaptive"]
    """By what a checkpoint costs and how often training fails; waits while others use the disk."""
    mtbf_h: float = Field(default=24.0, gt=0.0, le=1e6)
    """Mean time between failures of the whole job, all its nodes together, in hours."""
    min_interval_steps: int = Field(default=1, ge=1)
    """Never more often."""
    max_interval_steps: int | None = Field(default=None, ge=1)
    """Never less often, waiting included; default: ten times ``interval_steps``."""
    hysteresis: float = Field(default=0.2, ge=0.0, lt=1.0)
    """The interval changes where the new one differs by more than this share of the one in force."""
    busy_threshold: float = Field(default=0.65, gt=0.0, le=1.0)
    """Share of time in which others keep the disk at work, from which on a checkpoint waits."""
    max_delay: float = Field(default=0.5, ge=0.0, le=10.0)
    """How long it waits for a quiet moment at most, as a share of the interval."""
    price: CheckpointPrice | None = None
    """What a checkpoint and an hour of training cost; absent: time alone counts."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max_interval_steps is not None and self.max_interval_steps < self.min_interval_steps:
            raise ValueError("max_interval_steps is less than min_interval_steps")
        return self

    def bounds(self, base_steps: int) -> tuple[int, int]:
        """Least and greatest interval, in steps."""
        widest = self.max_interval_steps or _WIDEST * base_steps
        return self.min_interval_steps, max(self.min_interval_steps, widest)


IntervalConfig = Annotated[
    FixedInterval | ReportInterval | AdaptiveInterval,
    Field(discriminator="policy"),
]
