"""When checkpoints are taken and which are kept."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seedance_ops.strict_model import StrictModel


class KeepBest(StrictModel):
    """Keep the checkpoints with the best value of an evaluation metric."""

    metric: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    """Name under which the workload reports it."""
    n: int = Field(default=1, ge=1, le=100)
    """How many stay."""
    better: Literal["lower", "higher"] | None = None
    """Which direction is an improvement; default: what the metric's declaration in the workload says."""


class KeepPolicy(StrictModel):
    """Retention: a checkpoint stays when any of the rules names it."""

    last: int = Field(default=2, ge=1, le=1000)
    """How many of the newest stay."""
    best: KeepBest | None = None
    """How many of the best stay, by which metric; default: none for being good."""
    final: bool = True
    """Keep the one at the end of training."""


class CheckpointConfig(StrictModel):
    """Interval and retention of checkpoints."""

    interval_steps: int = Field(default=100, ge=1)
    """Optimiser steps between checkpoints."""
    keep: KeepPolicy = KeepPolicy()
    """Which checkpoints stay."""

    def with_direction(self, better: Literal["lower", "higher"] | None) -> CheckpointConfig:
        """The same, with the direction of ``keep.best`` where none is written."""
        best = self.keep.best
        if best is None or best.better is not None:
            return self
        keep = self.keep.model_copy(update={"best": best.model_copy(update={"better": better})})
        return self.model_copy(update={"keep": keep})
