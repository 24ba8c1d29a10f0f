"""Export a ledger as FOCUS 1.2, CSV or Parquet, and read it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field

from seedance_ops.cost.errors import CostError, CurrenciesMixed
from seedance_ops.cost.focus_columns import (
    COLUMNS,
    INTEGERS,
    MANDATORY,
    NUMBERS,
    SERVICES,
    TIMES,
    UNITS,
)
from seedance_ops.cost.ledger_table import LEDGER, ledger_frame
from seedance_ops.cost.rounding import rounded_within
from seedance_ops.strict_model import StrictModel

CURRENCY = "USD"
_PRICING_CATEGORIES = {"spot": "Dynamic", "contracted": "Committed", "amortised": "Other"}
_BACK = {unit: ours for ours, unit in UNITS.items()}


class Billing(StrictModel):
    """Who is billed, by whom, and when: what a ledger does not know."""

    account_id: str = Field(min_length=1, max_length=200)
    """The account that the cost is charged to."""
    account_name: str | None = None
    """Its display name."""
    provider: str = Field(min_length=1, max_length=200)
    """Who makes the machines available."""
    publisher: str | None = None
    """Who makes the service; the provider where none is named."""
    invoice_issuer: str | None = None
    """Who writes the invoice; the provider where none is named."""
    service: str = Field(default="Accelerated training", min_length=1, max_length=200)
    """The service's name on the bill."""


def focus_of(
    ledger: pd.DataFrame,
    billing: Billing,
    *,
    job: str,
    run_id: str,
    labels: Mapping[str, str] | None = None,
    decimals: int = 6,
) -> pd.DataFrame:
    """The ledger as a FOCUS 1.2 table: one row a ledger row, with the columns ``COLUMNS``.

    ``ListCost``, ``ContractedCost``, ``EffectiveCost`` and ``BilledCost`` are the same figure, since a ledger
    knows one price per unit; its basis stands in ``PricingCategory`` and ``x_price_basis``. Costs are rounded
    so that each run's rows add up to the run's rounded total (largest remainder).

    Args:
        ledger: Rows of ``ledger_of``, with their times.
        billing: What the ledger does not know.
        job: The job's name.
        run_id: The run's id.
        labels: The job's ``metadata.labels``; they become ``Tags``.
        decimals: Of the costs; 2 for cents, more where runs cost less than a cent.

    Raises:
        CostError: A row has no start or end, so that it belongs to no charge period.
    """
    untimed = ledger["started_at_s"].isna() | ledger["ended_at_s"].isna()
    if untimed.any():
        row = ledger[untimed].iloc[0]
        raise CostError(
            f"{row['variant']} seed {row['seed']} has no start or end; a charge needs its period: "
            "give launches with started_at_s and ended_at_s"
        )
    cost = rounded_within(ledger["cost_usd"], [ledger["variant"], ledger["seed"]], decimals)
    start, end = _at(ledger["started_at_s"]), _at(ledger["ended_at_s"])
    unit = ledger["unit"].map(UNITS)
    basis = ledger["price_basis"]
    month = start.dt.tz_localize(None).dt.to_period("M")
    services = ledger["component"].map(SERVICES)
    columns: dict[str, object] = {
        **dict.fromkeys(("BilledCost", "ContractedCost", "EffectiveCost", "ListCost"), cost),
        "BillingAccountId": billing.account_id,
        "BillingAccountName": billing.account_name,
        "BillingCurrency": CURRENCY,
        "BillingPeriodStart": month.dt.start_time.dt.tz_localize("UTC"),
        "BillingPeriodEnd": (month + 1).dt.start_time.dt.tz_localize("UTC"),
        "ChargeCategory": "Usage",
        "ChargeClass": None,  # null: no correction of an earlier period
        "ChargeDescription": _description(ledger),
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": start,
        "ChargePeriodEnd": end,
        "ConsumedQuantity": ledger["quantity"],
        "ConsumedUnit": unit,
        "ContractedUnitPrice": ledger["unit_price_usd"],
        "InvoiceIssuerName": billing.invoice_issuer or billing.provider,
        "ListUnitPrice": ledger["unit_price_usd"],
        "PricingCategory": basis.map(_PRICING_CATEGORIES).fillna("Standard"),
        "PricingCurrency": CURRENCY,
        "PricingQuantity": ledger["quantity"],
        "PricingUnit": unit,
        "ProviderName": billing.provider,
        "PublisherName": billing.publisher or billing.provider,
        "ResourceId": run_id + "/" + ledger["variant"] + "/seed-" + ledger["seed"].astype("str"),
        "ServiceCategory": services.str[0],
        "ServiceName": billing.service,
        "ServiceSubcategory": services.str[1].mask(
            (ledger["component"] == "storage") & (ledger["tier"] != "object"), "Other (Storage)"
        ),
        "SkuPriceId": ledger["price_key"].where(ledger["price_key"] != "-"),
        "Tags": json.dumps(dict(labels or {}), sort_keys=True, ensure_ascii=False),
        "x_job": job,
        "x_run_id": run_id,
        "x_phase": ledger["phase"].where(ledger["phase"] != ""),
        **{f"x_{name}": ledger[name] for name in ("variant", "seed", "stage", "component", "tier", "source")},
        **{f"x_{name}": ledger[name] for name in ("price_key", "price_date", "price_basis")},
    }
    return _typed(pd.DataFrame(columns, index=ledger.index).reset_index(drop=True))


def write_focus(focus: pd.DataFrame, path: Path) -> None:
    """Write by the file's suffix, ``.csv`` or ``.parquet``; raises ``CostError`` for another."""
    match path.suffix:
        case ".csv":
            focus.to_csv(path, index=False, date_format="%Y-%m-%dT%H:%M:%S.%fZ")
        case ".parquet":
            focus.to_parquet(path, index=False)
        case other:
            raise CostError(f"{path}: FOCUS is written as .csv or .parquet, not {other!r}")


def read_focus(path: Path) -> pd.DataFrame:
    """Read a FOCUS file, ours or another's: every mandatory column is there and the currency is one.

    Raises:
        CostError: The file is no CSV or Parquet, or a mandatory column is missing, or a cost is no number.
        CurrenciesMixed: ``BillingCurrency`` is not USD throughout.
    """
    match path.suffix:
        case ".csv":
            frame = pd.read_csv(path, dtype="str", keep_default_na=False)
        case ".parquet":
            frame = pd.read_parquet(path)
        case other:
            raise CostError(f"{path}: FOCUS is read from .csv or .parquet, not {other!r}")
    if missing := [name for name in MANDATORY if name not in frame]:
        raise CostError(f"{path}: FOCUS 1.2 needs the column{'s' * (len(missing) > 1)} {', '.join(missing)}")
    currencies = sorted({str(code) for code in frame["BillingCurrency"].unique()})
    if currencies not in ([], [CURRENCY]):
        raise CurrenciesMixed(
            f"{path}: BillingCurrency is {', '.join(currencies)}; a ledger is in {CURRENCY} alone: "
            "convert the others at a rate that you name, or read them apart"
        )
    try:
        typed = _typed(frame)
    except (ValueError, TypeError) as error:
        raise CostError(f"{path}: {error}") from None
    if not np.isfinite(typed["BilledCost"].to_numpy(dtype=np.float64, na_value=np.nan)).all():
        raise CostError(f"{path}: BilledCost is not a number in every row")
    return typed


def ledger_from(focus: pd.DataFrame) -> pd.DataFrame:
    """The ledger of a FOCUS table that ``focus_of`` made; costs as they were rounded.

    A table without ``x_phase``, as older versions wrote it, is one of a job without phases.
    """
    focus = focus if "x_phase" in focus else focus.assign(x_phase=None)
    if missing := [name for name in COLUMNS if name.startswith("x_") and name not in focus]:
        raise CostError(f"not an export of this project: it lacks {', '.join(missing)}")
    same = {name: focus[f"x_{name}"] for name in LEDGER if f"x_{name}" in focus}
    columns: dict[str, object] = {
        **same,
        "phase": focus["x_phase"].fillna(""),
        "quantity": focus["PricingQuantity"],
        "unit": focus["PricingUnit"].map(_BACK),
        "unit_price_usd": focus["ListUnitPrice"],
        "cost_usd": focus["BilledCost"],
        "started_at_s": _seconds(focus["ChargePeriodStart"]),
        "ended_at_s": _seconds(focus["ChargePeriodEnd"]),
    }
    records: list[dict[str, object]] = pd.DataFrame(columns).to_dict("records")  # type: ignore[assignment]
    return ledger_frame(records)


def _description(ledger: pd.DataFrame) -> pd.Series:
    tier = ledger["tier"].where(ledger["tier"] == "-", " (" + ledger["tier"] + ")").replace("-", "")
    what = ledger["component"].str.replace("_", " ") + tier
    return what + " in stage " + ledger["stage"] + " of " + ledger["variant"]


def _at(seconds: pd.Series) -> pd.Series:
    return pd.to_datetime(seconds, unit="s", utc=True).dt.as_unit("us")


def _seconds(times: pd.Series) -> pd.Series:
    return (times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of ``COLUMNS`` that are there, in order and typed, then any others as they are."""
    ours = [name for name in COLUMNS if name in frame]
    typed = {name: _column(name, frame[name]) for name in ours}
    return pd.DataFrame(typed | {name: frame[name] for name in frame.columns if name not in typed})


def _column(name: str, values: pd.Series) -> pd.Series:
    if name in NUMBERS:
        return values.replace("", np.nan).astype("float64")
    if name in TIMES:
        return pd.to_datetime(values, utc=True, format="ISO8601").dt.as_unit("us")
    if name in INTEGERS:
        return values.astype("int64")
    text = values.astype("object")
    return text.where(text.notna() & (text != ""), None).astype("str").where(text.notna() & (text != ""))
