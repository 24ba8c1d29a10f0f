"""USD per PFLOPS·hour on one's own hardware (R4.2), beside the rented price of the same work."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from seedance_ops.cost.quantities import positive
from seedance_ops.strict_model import StrictModel

WATTS_PER_KILOWATT = 1000.0
HOURS_PER_YEAR = 8784.0


class OwnedHardware(StrictModel):
    """What a machine costs its owner. Nothing has a default: each figure decides the answer."""

    purchase_usd: float = Field(gt=0.0, le=1e9)
    """Price of the machine with everything that is written off with it."""
    annual_depreciation_rate: float = Field(gt=0.0, le=1.0)
    """Share of the price written off in a year: 0.25 for four years."""
    effective_hours_per_year: float = Field(gt=0.0, le=8784.0)
    """Hours a year in which it trains; the other hours' depreciation is borne by these."""
    power_w: float = Field(gt=0.0, le=1e7)
    """Mean electrical power while it trains, measured where the device tells, before cooling."""
    pue: float = Field(ge=1.0, le=3.0)
    """Power usage effectiveness: the facility's power over the machine's."""
    tariff_usd_per_kwh: float = Field(gt=0.0, le=5.0)
    """Price of electrical energy."""
    achieved_pflops: float = Field(gt=0.0, le=1e6)
    """Measured, of the whole machine, at the precision in question; never a peak."""


@dataclass(frozen=True)
class PflopsHourCost:
    """USD for an hour at one achieved PFLOPS."""

    depreciation_usd: float
    power_usd: float

    @property
    def total_usd(self) -> float:
        """Depreciation and power."""
        return self.depreciation_usd + self.power_usd


def owned_cost_per_pflops_hour(hardware: OwnedHardware) -> PflopsHourCost:
    """Depreciation and power, per PFLOPS·h.

    - depreciation = purchase_usd [USD] × rate [1/a] ÷ (effective hours [h/a] × achieved PFLOPS)
    - power = power_w [W] / 1000 [W/kW] × PUE × tariff [USD/kWh] ÷ achieved PFLOPS

    Power drawn in hours without training is in neither term.
    """
    h = hardware
    depreciation = h.purchase_usd * h.annual_depreciation_rate
    return PflopsHourCost(
        depreciation_usd=depreciation / (h.effective_hours_per_year * h.achieved_pflops),
        power_usd=h.power_w / WATTS_PER_KILOWATT * h.pue * h.tariff_usd_per_kwh / h.achieved_pflops,
    )


def rented_cost_per_pflops_hour(
    usd_per_accelerator_hour: float, achieved_tflops_per_accelerator: float
) -> float:
    """USD per PFLOPS·h of rented capacity: price ÷ achieved TFLOPS × 1000.

    Raises:
        BadQuantity: A price or a rate is not above 0.
    """
    price = positive(usd_per_accelerator_hour, "usd_per_accelerator_hour")
    return price / positive(achieved_tflops_per_accelerator, "achieved_tflops_per_accelerator") * 1000.0


@dataclass(frozen=True)
class OwnedBesideRented:
    """The same PFLOPS·h, owned and rented."""

    owned: PflopsHourCost
    rented_usd: float
    break_even_hours_per_year: float | None
    """Effective hours a year above which owning is cheaper; none where power alone costs more than renting,
    or where it would take more hours than a year has."""


def owned_beside_rented(hardware: OwnedHardware, rented_usd_per_pflops_hour: float) -> OwnedBesideRented:
    """Both prices, and how busy the machine must be before owning it is the cheaper one.

    Break-even: purchase × rate ÷ (achieved PFLOPS × (rented − power)).

    Raises:
        BadQuantity: The rented price is not above 0.
    """
    rented = positive(rented_usd_per_pflops_hour, "rented_usd_per_pflops_hour")
    owned = owned_cost_per_pflops_hour(hardware)
    margin = rented - owned.power_usd
    yearly = hardware.purchase_usd * hardware.annual_depreciation_rate
    hours = yearly / (hardware.achieved_pflops * margin) if margin > 0.0 else None
    return OwnedBesideRented(owned, rented, hours if hours is not None and hours <= HOURS_PER_YEAR else None)


def report_power_per_pflops_hour(
    power_w: float, hours: float, tariff: float, achieved_pflops: float
) -> float:
    """The evaluation report's power term (R4.2) exactly as published; for the audit, never for a decision.

    ``power_w × hours × tariff / (achieved_pflops × 3600)``. What is wrong with it: watts times a tariff per
    kWh lacks the division by 1000, while a division by 3600 s/h stands where no seconds are, so that an
    hour's figure is 1000/3600 = 0.28 of the right one; and PUE, by which the text explains the difference
    between the products, is not in it.
    """
    return power_w * hours * tariff / (achieved_pflops * 3600.0)
