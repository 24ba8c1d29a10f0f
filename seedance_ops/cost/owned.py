"""USD per PFLOPS·hour on one's own hardware (R4.2), beside the rented price of the same work."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydantic import Field

from seedance_ops.cost.quantities import positive
from seedance_ops.strict_model import StrictModel

WATTS_PER_KILOWATT = 1000.0
HOURS_PER_YEAR = 8784.0


class Ownership(StrictModel):
    """What a machine costs its owner. Nothing has a default: each figure decides the answer."""

    purchase_usd: float = Field(gt=0.0, le=1e9)
    """USD for the machine with everything that is written off with it."""
    annual_depreciation_rate: float = Field(gt=0.0, le=1.0)
    """Share of the price written off in a year: 0.25 for four years."""
    effective_hours_per_year: float = Field(gt=0.0, le=8784.0)
    """Hours a year in which it trains; the other hours' depreciation is borne by these."""
    pue: float = Field(ge=1.0, le=3.0)
    """Power usage effectiveness: the facility's power over the machine's."""
    tariff_usd_per_kwh: float = Field(gt=0.0, le=5.0)
    """USD for a kWh of electrical energy."""

    @property
    def depreciation_usd_per_year(self) -> float:
        """purchase_usd [USD] × rate [1/a]."""
        return self.purchase_usd * self.annual_depreciation_rate


class OwnedHardware(Ownership):
    """A machine of which it is known how fast it trains."""

    power_w: float = Field(gt=0.0, le=1e7)
    """Mean electrical power while it trains, measured where the device tells, before cooling."""
    achieved_pflops: float = Field(gt=0.0, le=1e6)
    """Measured, of the whole machine, at the precision in question; never a peak."""


class OwnedMachine(Ownership):
    """One machine of one's own, as a job states it; a run bears the share of it that its accelerators are."""

    accelerators: int = Field(ge=1, le=1024)
    """Accelerators (or CPU cores) in the machine that ``purchase_usd`` and ``power_w`` are of."""
    power_w: float | None = Field(default=None, gt=0.0, le=1e7)
    """Mean W of the whole machine while it trains, before cooling; absent: the energy that devices told."""

    @property
    def depreciation_usd_per_accelerator_hour(self) -> float:
        """Of an hour in which it trains."""
        return self.depreciation_usd_per_year / (self.effective_hours_per_year * self.accelerators)

    @property
    def power_usd_per_accelerator_hour(self) -> float | None:
        """W / 1000 × PUE × tariff ÷ accelerators; none where the power is not stated."""
        if self.power_w is None:
            return None
        usd_per_h = self.power_w / WATTS_PER_KILOWATT * self.pue * self.tariff_usd_per_kwh
        return usd_per_h / self.accelerators


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
