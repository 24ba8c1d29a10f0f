"""What runs would have cost on a machine of one's own beside what they cost rented, with intervals (R4.2)."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

import numpy as np
import pandas as pd

from seedance_ops.cost.owned import break_even_hours
from seedance_ops.cost.ownership import HOURS_PER_YEAR, OwnedMachine
from seedance_ops.cost.ratio import UnitCost, UnitCostUnknown, Values, ratio_of_sums
from seedance_ops.cost.run_cost import KEYS
from seedance_ops.strict_model import StrictModel

USD_PER_PFLOPS_HOUR = "USD/PFLOPS·h"
PER = "achieved model FLOPs, with the whole run in the bill"
_DEPRECIATION = "owned_depreciation_usd_per_pflops_hour"
_POWER = "owned_power_usd_per_pflops_hour"
_OWNED = "owned_usd_per_pflops_hour"
_RENTED = "rented_usd_per_pflops_hour"
_BREAK_EVEN = "break_even_hours_per_year"
_S_PER_H = 3600.0
_FLOPS_PER_PFLOPS = 1e15
STATED = "exact: from stated figures alone"
Found = UnitCost | UnitCostUnknown
Cheaper = Literal["owned", "rented", "not_judgeable"]


class OwnedOverRuns(StrictModel):
    """One variant on the job's own machine, beside what it was billed."""

    variant: str
    power_source: Literal["stated", "measured", "unknown"]
    """Where the power is from: the job, or the energy that the runs' devices told."""
    depreciation: Found
    power: Found
    owned: Found
    """Depreciation and power."""
    rented: Found
    """The whole run's bill of accelerators: ``usd_per_tflops_hour_whole_run``, times 1000."""
    rented_price_key: str
    rented_price_basis: str
    stated_hours_per_year: float
    break_even: Found
    """Effective hours a year from which owning is the cheaper."""
    cheaper: Cheaper
    """At the stated hours a year; not judgeable where they lie within the break-even's interval."""


def owned_over_runs(
    runs: pd.DataFrame,
    costs: pd.DataFrame,
    machine: OwnedMachine,
    *,
    on_the_machine: Collection[str] | None = None,
    seed: int = 0,
) -> dict[str, OwnedOverRuns]:
    """Every variant that completed a run, owned beside rented.

    A run of k accelerators that was billed t hours takes k·t of the machine's accelerator hours, its start-up
    and evaluation included; so the machine's size and the run's FLOPs, which are of all its ranks, agree.

    - depreciation = Σ accelerator·h × purchase × rate ÷ (hours a year × accelerators) ÷ Σ PFLOPS·h
    - power = Σ accelerator·h × W / 1000 × PUE × tariff ÷ accelerators ÷ Σ PFLOPS·h where W is stated, else
      Σ kWh × PUE × tariff ÷ Σ PFLOPS·h

    Sums are over runs, intervals those of ``ratio_of_sums``. The break-even is ``break_even_hours`` per
    accelerator: exact where the power is stated, else from the interval of the power of an accelerator hour.

    Args:
        runs: ``variant``, ``seed``, ``model_flops``, and ``energy_kwh`` where measured.
        costs: What ``price_runs`` said of these runs.
        machine: The job's.
        on_the_machine: Variants whose accelerators are the machine's; default: all.
        seed: Of the bootstrap.
    """
    measured = [name for name in ("model_flops", "energy_kwh") if name in runs]
    table = runs[[*KEYS, *measured]].merge(costs, on=KEYS, how="left", validate="one_to_one")
    found = {}
    for name, rows in table.groupby("variant", sort=True):
        known = on_the_machine is None or name in on_the_machine
        found[str(name)] = (
            _of_variant(str(name), rows, machine, seed)
            if known
            else _elsewhere(str(name), rows, machine, seed)
        )
    return found


def _of_variant(variant: str, rows: pd.DataFrame, machine: OwnedMachine, seed: int) -> OwnedOverRuns:
    hours = _values(rows, "accelerator_hours")
    depreciation_usd = hours * machine.depreciation_usd_per_accelerator_hour
    source, power_usd = _power(rows, hours, machine)
    break_even, cheaper = _break_even(rows, hours, power_usd, machine, seed)
    return OwnedOverRuns(
        variant=variant,
        power_source=source,
        depreciation=_per_pflops_hour(rows, depreciation_usd, _DEPRECIATION, seed),
        power=_per_pflops_hour(rows, power_usd, _POWER, seed),
        owned=_per_pflops_hour(
            rows, None if power_usd is None else depreciation_usd + power_usd, _OWNED, seed
        ),
        rented=_per_pflops_hour(rows, _values(rows, "usd_per_run"), _RENTED, seed),
        rented_price_key=str(rows["price_key"].iloc[0]),
        rented_price_basis=str(rows["price_basis"].iloc[0]),
        stated_hours_per_year=machine.effective_hours_per_year,
        break_even=break_even,
        cheaper=cheaper,
    )


def _elsewhere(variant: str, rows: pd.DataFrame, machine: OwnedMachine, seed: int) -> OwnedOverRuns:
    """Of a variant that does not run on the machine's accelerators."""

    def unknown(name: str, unit: str = USD_PER_PFLOPS_HOUR) -> UnitCostUnknown:
        return UnitCostUnknown(
            name=name, unit=unit, reason="other_accelerators",
            explanation="it runs on other accelerators than the baseline, which the machine is of",
        )  # fmt: skip

    return OwnedOverRuns(
        variant=variant,
        power_source="unknown",
        depreciation=unknown(_DEPRECIATION),
        power=unknown(_POWER),
        owned=unknown(_OWNED),
        rented=_per_pflops_hour(rows, _values(rows, "usd_per_run"), _RENTED, seed),
        rented_price_key=str(rows["price_key"].iloc[0]),
        rented_price_basis=str(rows["price_basis"].iloc[0]),
        stated_hours_per_year=machine.effective_hours_per_year,
        break_even=unknown(_BREAK_EVEN, "h/a"),
        cheaper="not_judgeable",
    )


def _per_pflops_hour(rows: pd.DataFrame, usd: Values | None, name: str, seed: int) -> Found:
    if usd is None:
        return _no_power(name, USD_PER_PFLOPS_HOUR)
    work = _values(rows, "model_flops") / _FLOPS_PER_PFLOPS / _S_PER_H
    return ratio_of_sums(usd, work, name=name, unit=USD_PER_PFLOPS_HOUR, per=PER, seed=seed)


def _no_power(name: str, unit: str) -> UnitCostUnknown:
    return UnitCostUnknown(
        name=name, unit=unit, reason="not_measured",
        explanation="economics.owned states no power_w, and not every run's devices told their energy",
    )  # fmt: skip


def _power(
    rows: pd.DataFrame, hours: Values, machine: OwnedMachine
) -> tuple[Literal["stated", "measured", "unknown"], Values | None]:
    """USD of every run. What is stated goes first: a GPU's counter knows of no host, fan or power supply."""
    stated = machine.power_usd_per_accelerator_hour
    if stated is not None:
        return "stated", hours * stated
    if "energy_kwh" in rows and rows["energy_kwh"].notna().all():
        return "measured", _values(rows, "energy_kwh") * machine.pue * machine.tariff_usd_per_kwh
    return "unknown", None


def _break_even(
    rows: pd.DataFrame, hours: Values, power_usd: Values | None, machine: OwnedMachine, seed: int
) -> tuple[Found, Cheaper]:
    """The price is known and power grows with it, so the hours' interval follows from the power's."""
    if power_usd is None:
        return _no_power(_BREAK_EVEN, "h/a"), "not_judgeable"
    rented = float(rows["usd_per_accelerator_hour"].iloc[0])
    yearly = machine.depreciation_usd_per_year / machine.accelerators
    stated = machine.power_usd_per_accelerator_hour
    if stated is not None:
        exact = break_even_hours(yearly, rented, stated)
        return _hours(exact, exact, exact, n=len(rows), method=STATED, machine=machine)
    power = ratio_of_sums(power_usd, hours, name=_BREAK_EVEN, unit="h/a", per="accelerator hours", seed=seed)
    if isinstance(power, UnitCostUnknown):
        bare = None if power.estimate is None else break_even_hours(yearly, rented, power.estimate)
        estimate = bare if bare is not None and bare <= HOURS_PER_YEAR else None
        return power.model_copy(update={"estimate": estimate}), "not_judgeable"
    low, estimate, high = (
        break_even_hours(yearly, rented, usd) for usd in (power.low, power.estimate, power.high)
    )
    return _hours(
        low, estimate, high, n=len(rows), method=f"from power per hour: {power.method}", machine=machine
    )


def _hours(
    low: float, estimate: float, high: float, *, n: int, method: str, machine: OwnedMachine
) -> tuple[Found, Cheaper]:
    stated = machine.effective_hours_per_year
    cheaper: Cheaper = "owned" if stated > high else "rented" if stated < low else "not_judgeable"
    if low > HOURS_PER_YEAR:
        why = (
            "power alone costs as much as renting"
            if math.isinf(low)
            else f"it would take at least {low:.0f} h a year, which has {HOURS_PER_YEAR:.0f}"
        )
        return UnitCostUnknown(name=_BREAK_EVEN, unit="h/a", reason="never_pays", explanation=why), cheaper
    if high > HOURS_PER_YEAR:
        return UnitCostUnknown(
            name=_BREAK_EVEN, unit="h/a", reason="no_interval",
            explanation=f"from {low:.0f} h a year on, or never: the interval of the power reaches too far",
            estimate=estimate if estimate <= HOURS_PER_YEAR else None,
        ), cheaper  # fmt: skip
    return UnitCost(
        name=_BREAK_EVEN, unit="h/a", denominator="USD saved by an hour on one's own machine",
        estimate=estimate, low=low, high=high, n=n, method=method,
    ), cheaper  # fmt: skip


def _values(rows: pd.DataFrame, column: str) -> Values:
    values: Values = rows[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return values
