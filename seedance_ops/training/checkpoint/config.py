"""When checkpoints are taken and which are kept."""

from __future__ import annotations

from pydantic import Field

from seedance_ops.strict_model import StrictModel


class KeepBest(StrictModel):
    """Keep the checkpoints with the best value of an evaluation metric."""

    metric: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    n: int = Field(default=1, ge=1, le=100)


class KeepPolicy(StrictModel):
    """Retention: a checkpoint stays when any of the rules names it."""

    last: int = Field(default=2, ge=1, le=1000)
    """How many of the newest stay."""
    best: KeepBest | None = None
    final: bool = True
    """Keep the one at the end of training."""


class CheckpointConfig(StrictModel):
    """Interval and retention of checkpoints."""

    interval_steps: int = Field(default=100, ge=1)
    """Optimiser steps between checkpoints."""
    keep: KeepPolicy = KeepPolicy()
