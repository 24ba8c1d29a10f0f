"""USD per PFLOPS·hour on one's own hardware (R4.2), beside the rented price of the same work."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seedance_ops.cost.ownership import HOURS_PER_YEAR, WATTS_PER_KILOWATT, OwnedHardware
from seedance_ops.cost.quantities import positive


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

    - depreciation = purchase_usd [USD] × annual rate [1/a] ÷ (effective hours [h/a] × achieved PFLOPS)
    - power = power_w [W] / 1000 [W/kW] × PUE × tariff [USD/kWh] ÷ achieved PFLOPS

    Power drawn in hours without training is in neither term.
    """
    h = hardware
    return PflopsHourCost(
        depreciation_usd=h.depreciation_usd_per_year / (h.effective_hours_per_year * h.achieved_pflops),
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

    Raises:
        BadQuantity: The rented price is not above 0.
    """
    rented = positive(rented_usd_per_pflops_hour, "rented_usd_per_pflops_hour")
    owned = owned_cost_per_pflops_hour(hardware)
    per_pflops = hardware.depreciation_usd_per_year / hardware.achieved_pflops
    hours = break_even_hours(per_pflops, rented, owned.power_usd)
    return OwnedBesideRented(owned, rented, hours if hours <= HOURS_PER_YEAR else None)


def break_even_hours(depreciation_usd_per_year: float, rented_usd: float, power_usd: float) -> float:
    """Hours a year from which owning is the cheaper: depreciation ÷ (rented − power).

    Infinite where power alone costs as much as renting; beyond ``HOURS_PER_YEAR`` it never pays either.

    Args:
        depreciation_usd_per_year: Of whatever the other two are an hour's price of.
        rented_usd: USD an hour, rented.
        power_usd: USD an hour, for power of one's own.
    """
    margin = rented_usd - power_usd
    return depreciation_usd_per_year / margin if margin > 0.0 else math.inf


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
