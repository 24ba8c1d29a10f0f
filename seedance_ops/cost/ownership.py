"""What a machine costs its owner, as a job or a caller states it: models alone, for whoever parses jobs."""

from __future__ import annotations

from pydantic import Field

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
