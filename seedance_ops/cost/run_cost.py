"""What every run cost, and per unit of what: a pure function of launches, prices and measured work."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from seedance_ops.cost.catalogue import Price, PriceMissing
from seedance_ops.cost.quantities import finite_and_not_negative

KEYS = ["variant", "seed"]
COST_METRICS = (
    "usd_per_run",
    "usd_to_target_quality",
    "usd_per_tflops_hour",
    "usd_per_tflops_hour_training",
    "usd_per_1k_samples",
)
"""The columns that are metrics: what gates and statistics may name."""
COSTS = {
    "variant": "str",
    "seed": "int64",
    "submissions": "int64",
    "price_key": "str",
    "usd_per_accelerator_hour": "float64",
    "price_basis": "str",
    "price_source": "str",
    "price_date": "str",
    "accelerator_hours": "float64",
    "queue_s": "float64",
    "run_s": "float64",
    **dict.fromkeys(COST_METRICS, "float64"),
}
"""Columns and types of the ledger: one row per variant and seed that was launched."""

_S_PER_H = 3600.0


def price_runs(runs: pd.DataFrame, launches: pd.DataFrame, prices: Mapping[str, Price]) -> pd.DataFrame:
    """The ledger: one row per variant and seed that was launched, whether or not it ended well.

    A run is billed for every submission of its take, since retries are paid for too; the time in a queue is
    shown but not billed. Earlier takes are in no row: no result rests on them, and
    ``reporting.study_cost`` adds what they cost.

    Unit costs, NaN where the work is unknown (``runs`` lacks the row or the measurement):

    - ``usd_per_tflops_hour`` = usd_per_run / (model FLOPs / 10¹² / 3600 s/h): the price of one hour at an
      achieved model TFLOPS, with the whole run (start-up, evaluation, checkpoints, repeats) in the bill.
    - ``usd_per_tflops_hour_training``: the same with only the training steps' time in the bill.
    - ``usd_to_target_quality`` = usd_per_run × training time until ``quality.target`` / training time.
    - ``usd_per_1k_samples`` = 1000 · usd_per_run / samples.

    Args:
        runs: ``variant``, ``seed``, ``model_flops``, ``samples``, ``train_elapsed_s``, ``target_elapsed_s``.
        launches: ``variant``, ``seed``, ``num_nodes``, ``accelerators_per_node``, ``run_s``, ``queue_s``.
        prices: The price of each variant.

    Raises:
        PriceMissing: A variant that was launched has no price.
        BadQuantity: A time is negative, missing or infinite.
    """
    if launches.empty:
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in COSTS.items()})
    if unpriced := sorted(set(launches["variant"]) - prices.keys()):
        raise PriceMissing(f"no price was given for {', '.join(unpriced)}")
    ledger = billed(launches)
    for column, value in _price_columns(prices).items():
        ledger[column] = [value[variant] for variant in ledger["variant"]]
    work = runs[[*KEYS, "model_flops", "samples", "train_elapsed_s", "target_elapsed_s"]]
    ledger = ledger.merge(work, on=KEYS, how="left", validate="one_to_one")
    usd = ledger["accelerator_hours"] * ledger["usd_per_accelerator_hour"]
    hourly_usd = ledger["accelerators"] * ledger["usd_per_accelerator_hour"]
    tflops_hours = _positive(ledger["model_flops"]) / 1e12 / _S_PER_H
    share = ledger["target_elapsed_s"] / _positive(ledger["train_elapsed_s"])
    ledger["usd_per_run"] = usd
    ledger["usd_to_target_quality"] = usd * share.clip(upper=1.0)
    ledger["usd_per_tflops_hour"] = usd / tflops_hours
    ledger["usd_per_tflops_hour_training"] = hourly_usd * ledger["train_elapsed_s"] / _S_PER_H / tflops_hours
    ledger["usd_per_1k_samples"] = 1000.0 * usd / _positive(ledger["samples"])
    return ledger[list(COSTS)].astype(COSTS)


def with_costs(runs: pd.DataFrame, costs: pd.DataFrame) -> pd.DataFrame:
    """The run table with its cost metrics: what statistics and gates read."""
    return runs.merge(costs[[*KEYS, *COST_METRICS]], on=KEYS, how="left", validate="one_to_one")


def billed(launches: pd.DataFrame) -> pd.DataFrame:
    """Accelerator hours by variant and seed, over all submissions, whatever became of them.

    Raises ``BadQuantity`` where a time is negative, missing or infinite.
    """
    for column in ("run_s", "queue_s"):
        finite_and_not_negative(launches[column], f"launches.{column}", launches)
    accelerators = launches["num_nodes"] * launches["accelerators_per_node"]
    hours = accelerators * launches["run_s"] / _S_PER_H
    return (
        launches.assign(accelerators=accelerators, accelerator_hours=hours)
        .groupby(KEYS, sort=True)
        .agg(
            submissions=("run_s", "size"),
            accelerators=("accelerators", "last"),
            accelerator_hours=("accelerator_hours", "sum"),
            queue_s=("queue_s", "sum"),
            run_s=("run_s", "sum"),
        )
        .reset_index()
    )


def _price_columns(prices: Mapping[str, Price]) -> dict[str, dict[str, str | float]]:
    return {
        "price_key": {variant: price.key for variant, price in prices.items()},
        "usd_per_accelerator_hour": {v: price.usd_per_accelerator_hour for v, price in prices.items()},
        "price_basis": {variant: price.basis for variant, price in prices.items()},
        "price_source": {variant: price.source for variant, price in prices.items()},
        "price_date": {variant: price.date.isoformat() for variant, price in prices.items()},
    }


def _positive(values: pd.Series[float]) -> pd.Series[float]:
    """Divisors: nothing was done is not done for free, it is unknown."""
    return values.where(values > 0.0, np.nan)
