"""Total cost per 1,000 requests (R2.4): as published, and one whose units are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from seedance_ops.cost.errors import BadQuantity
from seedance_ops.cost.quantities import not_negative
from seedance_ops.cost.ratio import UnitCost, UnitCostUnknown, Values, ratio_of_sums
from seedance_ops.strict_model import StrictModel

_S_PER_H = 3600.0


def report_tco_per_1k(
    *,
    p99_ms: float,
    req_per_sec: float,
    instance_cost_h: float,
    cpu_util: float,
    mem_util: float,
    network_gb: float,
) -> float:
    """The evaluation report's TCO per 1,000 requests, exactly as published; for the audit, never for a gate.

    ``instance_cost_h/3600 × req_per_sec × 1000 × max(1, p99_ms/100)
    × (0.6·cpu_util + 0.3·mem_util + 0.1·network_gb)``

    What is wrong with it:

    - Its unit is USD·requests/s², not USD per 1,000 requests: USD/s is *multiplied* by requests/s, so the
      "cost of a request" grows with the request rate. Dividing gives USD per request. At r requests/s the
      factor between the two is r².
    - An idle machine is nearly free, although it is billed in full: the bill is weighted by utilisation.
    - A gigabyte is added to shares, with a weight of its own, though traffic is billed by its own price.
    - The latency weight is 1 for every product that the report compares (P99 of 31.7 to 42.3 ms), and where
      it is not, it charges for slowness twice: slow requests already hold the machine longer.
    """
    latency_weight = max(1.0, p99_ms / 100.0)
    return (
        instance_cost_h
        / _S_PER_H
        * req_per_sec
        * 1000.0
        * latency_weight
        * (0.6 * cpu_util + 0.3 * mem_util + 0.1 * network_gb)
    )


class TcoItem(StrictModel):
    """Something that is paid for: price × quantity."""

    name: str = Field(min_length=1, max_length=100)
    unit_price_usd: float = Field(ge=0.0)
    """USD per unit, for instance per machine·hour."""
    quantity: float = Field(ge=0.0)
    """Units, for instance machines × hours."""
    idle_share: float = Field(default=0.0, ge=0.0, le=1.0)
    """Share of the quantity in which it served nothing, though it was paid for."""


@dataclass(frozen=True)
class TcoRow:
    """One line of the bill, per 1,000 requests within the objective."""

    name: str
    usd_per_1k: float


@dataclass(frozen=True)
class Tco:
    """USD per 1,000 requests answered within the latency objective."""

    rows: tuple[TcoRow, ...]
    """Each item's busy part, then ``idle``, then ``egress``; they sum to the total."""
    total_usd_per_1k: float
    requests_within_slo: float


def tco_per_1k_within_slo(items: Sequence[TcoItem], egress_usd: float, requests_within_slo: float) -> Tco:
    """1000 × (Σ priceᵢ·quantityᵢ + egress) ÷ requests within the SLO.

    A request that missed the objective was paid for and is worth nothing, which is how latency enters; no
    weight is needed. Idle cost is a row of its own, over all items.

    Args:
        items: Everything paid for in the window.
        egress_usd: Traffic in the window, USD.
        requests_within_slo: Requests of the same window that were answered in time.

    Raises:
        BadQuantity: No request was within the objective, or an amount is negative or not finite.
    """
    not_negative(egress_usd, "egress_usd")
    if not requests_within_slo > 0.0:
        raise BadQuantity(
            f"requests_within_slo is {requests_within_slo}: no cost per request within the objective exists"
        )
    per_1k = 1000.0 / not_negative(requests_within_slo, "requests_within_slo")
    costs = [(item, item.unit_price_usd * item.quantity) for item in items]
    rows = [TcoRow(item.name, usd * (1.0 - item.idle_share) * per_1k) for item, usd in costs]
    rows.append(TcoRow("idle", sum(usd * item.idle_share for item, usd in costs) * per_1k))
    rows.append(TcoRow("egress", egress_usd * per_1k))
    total = (sum(usd for _, usd in costs) + egress_usd) * per_1k
    return Tco(tuple(rows), total, requests_within_slo)


def tco_over_runs(usd: Values, requests_within_slo: Values, seed: int = 0) -> UnitCost | UnitCostUnknown:
    """The same over repeated runs: Σ USD ÷ Σ requests within the SLO × 1000, bootstrapped over runs."""
    return ratio_of_sums(
        usd,
        requests_within_slo,
        name="tco_per_1k_within_slo",
        unit="USD",
        per="requests within the latency objective",
        scale=1000.0,
        seed=seed,
    )
