"""What finding out may cost, and what a saving is worth."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seedance_ops.cost.ownership import OwnedMachine
from seedance_ops.cost.unit_prices import OtherPrices
from seedance_ops.strict_model import StrictModel


class Budget(StrictModel):
    """Bounds on what a run of the job may cost; a run that would exceed them is not started."""

    usd: float | None = Field(default=None, gt=0.0, le=1e9)
    """USD for the whole study: every variant under every seed."""
    per_run_usd: float | None = Field(default=None, gt=0.0, le=1e9)
    """USD for one training; its launch is ended when it has cost as much."""
    expected_run_s: float | None = Field(default=None, gt=0.0, le=31_536_000.0)
    """Seconds that one training is expected to take, until there is a history that says it."""


class PriceTerms(OtherPrices):
    """Prices beside the accelerator's, and how old any price may be. What is left out is not priced."""

    max_age_days: int | None = Field(default=None, ge=1, le=36_500)
    """Days after which a price of the catalogue is warned of; absent: never."""


class Economics(StrictModel):
    """How the workload runs in production, so that a saving can be put in money."""

    runs_per_month: float = Field(gt=0.0, le=1e6)
    """Production runs of the workload a month."""
    capacity: Literal["on_demand", "committed", "owned"] = "on_demand"
    """``on_demand``: a saving is cash; ``committed``, ``owned``: the bill stays, hours are freed."""
    owned: OwnedMachine | None = None
    """A machine of one's own to hold beside the rented price; absent: the report compares none."""
