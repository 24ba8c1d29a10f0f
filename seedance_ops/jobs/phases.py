"""Two phases: a short screening that judges cost alone, then the confirming runs that everything rests on."""

from __future__ import annotations

from pydantic import Field

from seedance_ops.strict_model import StrictModel


class Screen(StrictModel):
    """Every variant, briefly: what it costs per sample, and nothing else."""

    samples: int = Field(ge=1)
    """Samples of one screening run, over all ranks; fewer than a confirming run takes."""
    seeds: int = Field(default=1, ge=1, le=100)
    """Screening runs per variant, on seeds that no confirming run uses."""


class Confirm(StrictModel):
    """The cheapest variants and the baseline, in full."""

    top: int = Field(ge=1, le=100)
    """Variants beside the baseline that go on: the cheapest per sample."""
    seeds: int = Field(ge=1, le=1000)
    """Confirming runs per variant; what ``repeats.seeds`` is in a job without phases."""


class Phases(StrictModel):
    """Screen many variants cheaply, then confirm few."""

    screen: Screen
    """The first phase; it judges cost only."""
    confirm: Confirm
    """The second phase; every claim rests on its runs alone."""
