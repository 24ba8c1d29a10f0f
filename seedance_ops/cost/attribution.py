"""Whose doing a request's cost is (R2.4): infrastructure, application, data; the parts sum to the total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from seedance_ops.strict_model import StrictModel

Dimension = Literal["infrastructure", "application", "data"]


class Attributable(StrictModel):
    """What was paid in a window, and how the machines' busy time was spent."""

    list_usd: float = Field(ge=0.0)
    """The machines at the reference region's list price, USD."""
    region_factor: float = Field(default=1.0, gt=0.0, le=10.0)
    """Price in this region over that in the reference region."""
    reserved_discount: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share that a reservation or contract takes off."""
    idle_share: float = Field(ge=0.0, le=1.0)
    """Share of the paid time in which nothing was served."""
    cold_start_share: float = Field(default=0.0, ge=0.0, le=1.0)
    """Share of busy time spent starting up functions or replicas."""
    dependency_share: float = Field(default=0.0, ge=0.0, le=1.0)
    """Share of busy time spent waiting for other services."""
    cache_miss_share: float = Field(default=0.0, ge=0.0, le=1.0)
    """Share of busy time spent on what a cache hit would have saved."""
    serialisation_share: float = Field(default=0.0, ge=0.0, le=1.0)
    """Share of busy time spent encoding and decoding."""
    egress_usd: float = Field(default=0.0, ge=0.0)
    """Traffic, USD."""

    @model_validator(mode="after")
    def _shares_of_one_whole(self) -> Self:
        shares = (
            self.cold_start_share + self.dependency_share + self.cache_miss_share + self.serialisation_share
        )
        if shares > 1.0 + 1e-9:
            raise ValueError(f"the four shares of busy time sum to {shares:.4g}; a moment counts once")
        return self


@dataclass(frozen=True)
class Part:
    """One cause's share of the bill."""

    dimension: Dimension
    cause: str
    usd: float


def attributed(bill: Attributable) -> tuple[Part, ...]:
    """Parts that sum to ``total_usd``: the machines as billed, plus egress.

    Busy cost is shared out by time: application and data take theirs, and what is left is the machines'
    own. That rest is shown at list price, with region and reservation as corrections of it; the discount
    is negative.
    """
    billed = bill.list_usd * bill.region_factor * (1.0 - bill.reserved_discount)
    idle = billed * bill.idle_share
    busy = billed - idle
    application = {"cold_start": bill.cold_start_share, "dependent_services": bill.dependency_share}
    data = {"cache_misses": bill.cache_miss_share, "serialisation": bill.serialisation_share}
    rest = busy * max(0.0, 1.0 - sum(application.values()) - sum(data.values()))
    undiscounted = rest / (1.0 - bill.reserved_discount)
    at_list = undiscounted / bill.region_factor
    return (
        Part("infrastructure", "instance_type", at_list),
        Part("infrastructure", "region", undiscounted - at_list),
        Part("infrastructure", "reserved_discount", rest - undiscounted),
        Part("infrastructure", "idle", idle),
        *(Part("application", cause, busy * share) for cause, share in application.items()),
        *(Part("data", cause, busy * share) for cause, share in data.items()),
        Part("data", "egress", bill.egress_usd),
    )


def total_usd(bill: Attributable) -> float:
    """What was paid: machines and traffic."""
    return bill.list_usd * bill.region_factor * (1.0 - bill.reserved_discount) + bill.egress_usd
