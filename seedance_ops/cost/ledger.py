"""The ledger: every run as rows of quantity × price, which add up to what the run cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from seedance_ops.cost.accelerator_time import PATH_COLUMNS, TimePart, time_parts
from seedance_ops.cost.catalogue import Price, PriceMissing
from seedance_ops.cost.errors import BadQuantity, LedgerDoesNotAddUp
from seedance_ops.cost.ledger_table import BILLED_BY_THE_HOUR, BYTES_PER_GB, UNITS, ledger_frame, no_usage
from seedance_ops.cost.quantities import finite_and_not_negative
from seedance_ops.cost.run_cost import KEYS, billed
from seedance_ops.cost.unit_prices import OtherPrices, StoragePrice, UnitPrice
from seedance_ops.cost.usage import known_usage

DAYS_PER_MONTH = 365.25 / 12.0
_S_PER_H = 3600.0
_KNOWN_OF_TRAINING = ("train_elapsed_s", "checkpoint_stall_s", *PATH_COLUMNS)
Row = dict[str, object]
Run = dict[Hashable, Any]


def ledger_of(
    runs: pd.DataFrame,
    launches: pd.DataFrame,
    checkpoint_writes: pd.DataFrame | None,
    prices: Mapping[str, Price],
    *,
    other: OtherPrices | None = None,
    usage: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Rows of ``LEDGER`` for every run that was launched, whether or not it ended well.

    Billed accelerator time (all submissions of the take) is split into rows that sum to it, by
    ``time_parts``: ``accelerator_time`` in stage ``train``, of tier ``compute`` and ``network`` where the
    steps' critical path is known; in stage ``checkpoint`` (training stood still for one); ``idle`` in stage
    ``train``; and ``idle`` in stage ``overhead``: start-up, evaluation, repeated steps, waiting between.
    Where the training time of a run is unknown it is one row of stage ``run``. Time in the queue is shown at
    price 0, since nobody is billed for it. Anything else that has no price is in no row: see ``not_priced``.

    Args:
        runs: ``variant``, ``seed``, ``train_elapsed_s``; ``checkpoint_stall_s`` and ``PATH_COLUMNS`` where
            measured.
        launches: As ``price_runs`` takes them; ``started_at_s`` and ``ended_at_s`` are used where present.
        checkpoint_writes: ``variant``, ``seed``, ``tier``, ``bytes``; none where nothing was written.
        prices: The accelerator's price for each variant.
        other: Prices beside the accelerator's.
        usage: What the runs recorded, with the columns of ``USAGE`` and any others; summed by run, and a
            component of which a part is unknown is in no row.

    Raises:
        PriceMissing: A variant that was launched has no price.
        BadQuantity: A time, size or quantity is negative, missing or infinite.
    """
    if launches.empty:
        return ledger_frame([])
    if unpriced := sorted(set(launches["variant"]) - prices.keys()):
        raise PriceMissing(f"no price was given for {', '.join(unpriced)}")
    other = other or OtherPrices()
    usage = no_usage() if usage is None else known_usage(usage)
    rows: list[Row] = []
    launched = {(run["variant"], run["seed"]): run for run in _described(runs, launches)}
    for (variant, _), run in launched.items():
        by_the_hour = (*_accelerator_rows(run, prices[variant]), *_host_rows(run, other), _queue_row(run))
        rows.extend(_placed(row, run) for row in by_the_hour)
    for row in (*_storage_rows(checkpoint_writes, other), *_usage_rows(usage, other)):
        key = (row["variant"], row["seed"])
        if key not in launched:
            raise BadQuantity(f"{row['component']} of {key[0]} seed {key[1]}: no such run was launched")
        rows.append(_placed(row, launched[key]))
    return ledger_frame(rows)


def run_totals(ledger: pd.DataFrame) -> pd.DataFrame:
    """USD by variant and seed: ``accelerator_usd``, ``other_usd`` and their sum ``total_usd``."""
    by_the_hour = ledger["component"].isin(BILLED_BY_THE_HOUR)
    parts = ledger.assign(
        accelerator_usd=ledger["cost_usd"].where(by_the_hour, 0.0),
        other_usd=ledger["cost_usd"].where(~by_the_hour, 0.0),
        total_usd=ledger["cost_usd"],
    )
    return parts.groupby(KEYS, sort=True)[["accelerator_usd", "other_usd", "total_usd"]].sum().reset_index()


def check_against(ledger: pd.DataFrame, costs: pd.DataFrame, tolerance_usd: float = 1e-9) -> None:
    """Raise ``LedgerDoesNotAddUp`` unless accelerator rows sum to ``usd_per_run``, run by run.

    Args:
        ledger: Rows of ``ledger_of``.
        costs: What ``price_runs`` says of the same launches.
        tolerance_usd: Absolute, and relative to the run's cost.
    """
    both = run_totals(ledger).merge(costs[[*KEYS, "usd_per_run"]], on=KEYS, how="outer")
    off = ~np.isclose(
        both["accelerator_usd"], both["usd_per_run"], rtol=tolerance_usd, atol=tolerance_usd, equal_nan=False
    )
    if off.any():
        row = both[off].iloc[0]
        raise LedgerDoesNotAddUp(
            f"{row['variant']} seed {row['seed']}: the ledger says {row['accelerator_usd']} USD, "
            f"usd_per_run {row['usd_per_run']}; both must come from the same launches and prices"
        )


def _described(runs: pd.DataFrame, launches: pd.DataFrame) -> list[Run]:
    """One record per run that was launched: what was billed, and what is known of its training."""
    nodes = launches["num_nodes"] * launches["run_s"] / _S_PER_H
    waiting = launches["num_nodes"] * launches["accelerators_per_node"] * launches["queue_s"] / _S_PER_H
    hours = launches.assign(node_hours=nodes, queue_hours=waiting)
    hours = hours.groupby(KEYS, sort=True)[["node_hours", "queue_hours"]].sum()
    table = billed(launches).merge(hours.join(_times(launches)), on=KEYS, validate="one_to_one")
    known = [name for name in _KNOWN_OF_TRAINING if name in runs]
    table = table.merge(runs[[*KEYS, *known]], on=KEYS, how="left", validate="one_to_one")
    for column in set(_KNOWN_OF_TRAINING) - set(known):
        table[column] = np.nan
    return table.to_dict("records")


def _times(launches: pd.DataFrame) -> pd.DataFrame:
    """First start and last end by run; a submission that never started stands at the time it was made."""
    absent = pd.Series(np.nan, index=launches.index)
    made = launches.get("submitted_at_s", absent)
    start = launches.get("started_at_s", absent).fillna(made)
    end = launches.get("ended_at_s", absent).fillna(start)
    times = launches[KEYS].assign(started_at_s=start, ended_at_s=end)
    return times.groupby(KEYS, sort=True).agg(
        started_at_s=("started_at_s", "min"), ended_at_s=("ended_at_s", "max")
    )


def _accelerator_rows(run: Run, price: Price) -> Iterator[Row]:
    parts = time_parts(
        billed_h=float(run["accelerator_hours"]),
        accelerators=float(run["accelerators"]),
        seconds={name: float(run[name]) for name in _KNOWN_OF_TRAINING},
    )
    for part in parts:
        yield _accelerator_row(part, price)


def _accelerator_row(part: TimePart, price: Price) -> Row:
    return {
        "stage": part.stage,
        "component": part.component,
        "tier": part.tier,
        "quantity": part.hours,
        "unit_price_usd": price.usd_per_accelerator_hour,
        "source": price.origin,
        "price_key": price.key,
        "price_date": price.date.isoformat(),
        "price_basis": price.basis,
    }


def _queue_row(run: Run) -> Row:
    return {
        "stage": "queue",
        "component": "queue",
        "quantity": float(run["queue_hours"]),
        "unit_price_usd": 0.0,
        "source": "measured",
    }


def _host_rows(run: Run, other: OtherPrices) -> Iterator[Row]:
    if other.host_usd_per_node_hour is not None:
        yield _other_row("run", "host", "-", float(run["node_hours"]), other.host_usd_per_node_hour)


def _storage_rows(writes: pd.DataFrame | None, other: OtherPrices) -> Iterator[Row]:
    if writes is None or writes.empty:
        return
    finite_and_not_negative(writes["bytes"], "checkpoint_writes.bytes", writes)
    sizes = writes.groupby([*KEYS, "tier"], sort=True)["bytes"].sum().reset_index()
    for written in sizes.to_dict("records"):
        price: StoragePrice | None = other.storage_usd_per_gb_month.get(written["tier"])
        if price is not None:
            months = price.kept_days / DAYS_PER_MONTH
            gigabytes = written["bytes"] / BYTES_PER_GB
            row = _other_row("checkpoint", "storage", written["tier"], gigabytes * months, price)
            yield row | {"variant": written["variant"], "seed": written["seed"]}


def _usage_rows(usage: pd.DataFrame, other: OtherPrices) -> Iterator[Row]:
    for used in usage.to_dict("records"):
        component, tier = used["component"], used["tier"]
        price, per_unit = _price_of_usage(component, tier, other)
        if price is not None:
            row = _other_row(used["stage"], component, tier, used["quantity"] / per_unit, price)
            yield row | {"variant": used["variant"], "seed": used["seed"]}


def _price_of_usage(component: str, tier: str, other: OtherPrices) -> tuple[UnitPrice | None, float]:
    match component:
        case "requests":
            by_class = {str(name): price for name, price in other.requests_usd_per_1000.items()}
            return by_class.get(tier), 1000.0
        case "egress":
            return other.egress_usd_per_gb, 1.0
        case "energy":
            return other.energy_usd_per_kwh, 1.0
        case _:
            raise BadQuantity(
                f"usage of component {component!r}: requests, egress or energy can be given; "
                "the others are computed from launches and checkpoint_writes"
            )


def _other_row(stage: str, component: str, tier: str, quantity: float, price: UnitPrice) -> Row:
    return {
        "stage": stage,
        "component": component,
        "tier": tier,
        "quantity": quantity,
        "unit_price_usd": price.usd,
        "source": price.source,
        "price_key": price.key,
        "price_date": price.date.isoformat() if price.date else "-",
        "price_basis": "contracted" if price.source == "user" else "list",
    }


def _placed(row: Row, run: Run) -> Row:
    quantity, price = row["quantity"], row["unit_price_usd"]
    assert isinstance(quantity, float)
    assert isinstance(price, float)
    return (
        {"phase": "", "tier": "-", "price_key": "-", "price_date": "-", "price_basis": "-"}
        | row
        | {
            "variant": run["variant"],
            "seed": run["seed"],
            "unit": UNITS[str(row["component"])],
            "cost_usd": quantity * price,
            "started_at_s": run["started_at_s"],
            "ended_at_s": run["ended_at_s"],
        }
    )
