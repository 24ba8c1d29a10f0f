"""The parts of a workload that the training process itself acts on: batch, stop condition, quality."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from seedance_ops.strict_model import StrictModel


class BatchConfig(StrictModel):
    """How many samples one rank takes per optimiser step."""

    per_rank: int = Field(ge=1, le=1_048_576)
    """Samples per rank and step."""


class StopCondition(StrictModel):
    """How much work a run does. Exactly one of the three; counted over all ranks."""

    samples: int | None = Field(default=None, ge=1)
    """Samples over all ranks: the same work for every variant, whatever its batch."""
    steps: int | None = Field(default=None, ge=1)
    """Optimiser steps."""
    tokens: int | None = Field(default=None, ge=1)
    """Tokens over all ranks, as the workload reports them."""

    @model_validator(mode="after")
    def _exactly_one(self) -> StopCondition:
        if sum(value is not None for value in (self.samples, self.steps, self.tokens)) != 1:
            raise ValueError("give exactly one of samples, steps, tokens")
        return self


class QualityConfig(StrictModel):
    """The metric by which a variant must not get worse."""

    metric: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    """Name under which the workload reports it."""
    better: Literal["lower", "higher"]
    """Which direction is an improvement."""
    target: float | None = None
    """Value that ends the search in ``usd_to_target_quality``; without one that metric is not computed."""
