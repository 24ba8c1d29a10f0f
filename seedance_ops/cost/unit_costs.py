"""What a unit of work costs, with intervals over runs: per TFLOPS·hour, sample, target reached, and kWh."""

from __future__ import annotations

import numpy as np
import pandas as pd

from seedance_ops.cost.ratio import UnitCost, UnitCostUnknown, Values, ratio_of_sums
from seedance_ops.cost.run_cost import KEYS

_S_PER_H = 3600.0
_FLOPS_PER_TFLOPS = 1e12
Found = UnitCost | UnitCostUnknown
USD_PER_TFLOPS_HOUR = "USD/TFLOPS·h"


def unit_costs(
    runs: pd.DataFrame, costs: pd.DataFrame, *, energy: pd.DataFrame | None = None, seed: int = 0
) -> dict[str, tuple[Found, ...]]:
    """Every unit cost of every variant that completed a run.

    - ``usd_per_tflops_hour_whole_run``: everything that was billed ÷ achieved model FLOPs as TFLOPS·h.
    - ``usd_per_tflops_hour_training``: only the training steps' time in the bill.
    - ``usd_per_1k_samples``.
    - ``usd_per_run_to_target``: mean over runs; not judgeable while one run has not reached the target,
      since dropping it would make a variant that fails look cheap.
    - ``energy_kwh_per_run``, ``energy_kwh_per_sample``: where energy was measured.

    Args:
        runs: ``variant``, ``seed``, ``model_flops``, ``samples``.
        costs: What ``price_runs`` said of these runs.
        energy: ``variant``, ``seed``, ``energy_kwh``; none where no device told.
        seed: Of the bootstrap.
    """
    table = runs[[*KEYS, "model_flops", "samples"]].merge(costs, on=KEYS, how="left", validate="one_to_one")
    if energy is None:
        table["energy_kwh"] = np.nan
    else:
        table = table.merge(energy[[*KEYS, "energy_kwh"]], on=KEYS, how="left", validate="one_to_one")
    return {
        str(variant): (*_costs_of(rows, seed), *_energy_of(rows, seed))
        for variant, rows in table.groupby("variant", sort=True)
    }


def usd_per_tflops_hour(usd: Values, model_flops: Values, *, name: str, per: str, seed: int = 0) -> Found:
    """Σ USD ÷ Σ achieved TFLOPS·h, where TFLOPS·h = model FLOPs / 10¹² / 3600 s/h."""
    work = model_flops / _FLOPS_PER_TFLOPS / _S_PER_H
    return ratio_of_sums(usd, work, name=name, unit=USD_PER_TFLOPS_HOUR, per=per, seed=seed)


def _costs_of(rows: pd.DataFrame, seed: int) -> tuple[Found, ...]:
    usd, flops, samples = (_values(rows, name) for name in ("usd_per_run", "model_flops", "samples"))
    # The training's share of the bill: price_runs gives it per TFLOPS·h of the same run.
    training = _values(rows, "usd_per_tflops_hour_training") * flops / _FLOPS_PER_TFLOPS / _S_PER_H
    return (
        usd_per_tflops_hour(
            usd, flops, name="usd_per_tflops_hour_whole_run", seed=seed,
            per="achieved model FLOPs, with the whole run in the bill",
        ),
        usd_per_tflops_hour(
            training, flops, name="usd_per_tflops_hour_training", seed=seed,
            per="achieved model FLOPs, with the training steps alone in the bill",
        ),
        ratio_of_sums(
            usd, samples, name="usd_per_1k_samples", unit="USD", scale=1e3, seed=seed,
            per="samples of all ranks",
        ),
        _to_target(rows, seed),
    )  # fmt: skip


def _to_target(rows: pd.DataFrame, seed: int) -> Found:
    name, unit = "usd_per_run_to_target", "USD"
    usd = _values(rows, "usd_to_target_quality")
    if missed := int((~np.isfinite(usd)).sum()):
        return UnitCostUnknown(
            name=name,
            unit=unit,
            reason="never_reached",
            explanation=f"{missed} of {len(usd)} runs never reached quality.target (or none is declared)",
        )
    return ratio_of_sums(usd, np.ones_like(usd), name=name, unit=unit, per="runs", seed=seed)


def _energy_of(rows: pd.DataFrame, seed: int) -> tuple[Found, ...]:
    kwh, samples = _values(rows, "energy_kwh"), _values(rows, "samples")
    wanted = (
        ("energy_kwh_per_run", "kWh", "runs", np.ones_like(kwh)),
        ("energy_kwh_per_sample", "kWh", "samples of all ranks", samples),
    )
    if np.isnan(kwh).all():
        return tuple(
            UnitCostUnknown(
                name=name, unit=unit, reason="not_measured", explanation="no device told its energy"
            )
            for name, unit, _, _ in wanted
        )
    return tuple(
        ratio_of_sums(kwh, work, name=name, unit=unit, per=per, seed=seed) for name, unit, per, work in wanted
    )


def _values(rows: pd.DataFrame, column: str) -> Values:
    values: Values = rows[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return values
