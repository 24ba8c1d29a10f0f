"""When checkpoints are taken and which are kept."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from seedance_ops.strict_model import StrictModel
from seedance_ops.training.checkpoint.interval.config import FixedInterval, IntervalConfig


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


class Cadence(StrictModel):
    """Every how many checkpoints one goes to a tier; 0: none. The last one goes to all that are used."""

    memory: int = Field(default=0, ge=0, le=1000)
    """``/dev/shm`` of each node: outlives the processes, not the node; takes two checkpoints of memory."""
    local: int = Field(default=1, ge=0, le=1000)
    """The disk of each node."""
    object: int = Field(default=1, ge=1, le=1000)
    """The object store, which survives everything."""

    @model_validator(mode="after")
    def _near(self) -> Self:
        if 1 not in (self.memory, self.local):
            raise ValueError("memory or local must be 1: every checkpoint is written to a node first")
        return self


class CheckpointConfig(StrictModel):
    """Interval, places and retention of checkpoints."""

    interval_steps: int = Field(default=100, ge=1)
    """Optimiser steps between checkpoints; of other policies than ``fixed`` the base."""
    interval: IntervalConfig = FixedInterval()
    """Whether the interval changes while training runs, and by what."""
    cadence: Cadence = Cadence()
    """Which of them go where."""
    keep: KeepPolicy = KeepPolicy()
    """Which checkpoints stay in the object store; on a node the newest two do."""
    on_failure: Literal["stop", "continue"] = "stop"
    """``stop``: training ends where a checkpoint cannot be written, and a retry resumes; ``continue``: it
    goes on, with the checkpoints there are."""
    local_folder: str | None = Field(default=None, pattern=r"^/[^\x00-\x1f]*$")
    """Folder of each node for the tier ``local``; absent: beside the launch's own."""

    def with_direction(self, better: Literal["lower", "higher"] | None) -> CheckpointConfig:
        """The same, with the direction of ``keep.best`` where none is written."""
        best = self.keep.best
        if best is None or best.better is not None:
            return self
        keep = self.keep.model_copy(update={"best": best.model_copy(update={"better": better})})
        return self.model_copy(update={"keep": keep})
