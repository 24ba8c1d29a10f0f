"""A ledger goes out as FOCUS 1.2 and comes back the same."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from seedance_ops.cost.errors import CostError, CurrenciesMixed
from seedance_ops.cost.focus import Billing, focus_of, ledger_from, read_focus, write_focus
from seedance_ops.cost.ledger import ledger_of

# Feature level "Mandatory" in FOCUS 1.2, alphabetically (focus.finops.org/focus-specification/v1-2).
MANDATORY = [
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ServiceCategory",
    "ServiceName",
]
BILLING = Billing(account_id="123", account_name="ML platform", provider="AWS")


@pytest.fixture
def ledger(runs, launches, price):
    two = [{}, {"variant": "b", "seed": 3, "run_s": 1234.5}]
    return ledger_of(runs(*two), launches(*two), None, {"a": price(2.0), "b": price(0.7)})


@pytest.fixture
def focus(ledger):
    return focus_of(ledger, BILLING, job="tiny", run_id="manual__1", labels={"team": "nlp", "größe": "8b"})


def test_every_mandatory_column_is_there(focus):
    assert len(MANDATORY) == 21
    assert set(MANDATORY) <= set(focus.columns)


def test_every_column_that_is_not_the_specifications_begins_with_x(focus):
    assert all(name.startswith("x_") or name[0].isupper() for name in focus.columns)
    assert {"x_variant", "x_seed", "x_stage", "x_job", "x_run_id", "x_source"} <= set(focus.columns)


def test_a_charge_has_its_period_its_month_and_its_words(focus):
    row = focus[focus["x_stage"] == "train"].iloc[0]
    assert row["ChargePeriodStart"] == pd.Timestamp("2026-01-02T00:00Z")
    assert row["ChargePeriodEnd"] == pd.Timestamp("2026-01-02T01:00Z")
    assert row["BillingPeriodStart"] == pd.Timestamp("2026-01-01T00:00Z")
    assert row["BillingPeriodEnd"] == pd.Timestamp("2026-02-01T00:00Z")
    assert (row["ChargeCategory"], row["ServiceCategory"], row["BillingCurrency"]) == (
        "Usage",
        "Compute",
        "USD",
    )
    assert pd.isna(row["ChargeClass"])
    assert row["ChargeDescription"] == "accelerator time in stage train of a"
    assert row["PricingUnit"] == "Accelerator-Hours"
    assert json.loads(row["Tags"]) == {"team": "nlp", "größe": "8b"}


def test_cents_add_up_per_run(ledger):
    focus = focus_of(ledger, BILLING, job="tiny", run_id="r", decimals=2)
    of_run = focus.groupby("x_variant")["BilledCost"].sum()
    assert of_run["a"] == pytest.approx(16.0, abs=1e-9)
    assert of_run["b"] == pytest.approx(round(8 * 1234.5 / 3600 * 0.7, 2), abs=1e-9)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_was_written_is_read_back_the_same(suffix, focus, ledger, tmp_path):
    path = tmp_path / f"focus{suffix}"
    write_focus(focus, path)
    back = read_focus(path)
    pd.testing.assert_frame_equal(back, focus, check_dtype=False)
    pd.testing.assert_frame_equal(ledger_from(back), ledger, check_exact=False, rtol=1e-9, atol=1e-6)


def test_an_empty_ledger_goes_out_and_comes_back(ledger, tmp_path):
    write_focus(focus_of(ledger.head(0), BILLING, job="tiny", run_id="r"), tmp_path / "empty.parquet")
    assert ledger_from(read_focus(tmp_path / "empty.parquet")).empty


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_second_currency_in_a_file_is_an_error(suffix, focus, tmp_path):
    mixed = pd.concat([focus, focus.assign(BillingCurrency="EUR")])
    write_focus(mixed, tmp_path / f"mixed{suffix}")
    with pytest.raises(CurrenciesMixed, match="EUR, USD"):
        read_focus(tmp_path / f"mixed{suffix}")


def test_another_currency_alone_is_one_too(focus, tmp_path):
    write_focus(focus.assign(BillingCurrency="CNY"), tmp_path / "f.csv")
    with pytest.raises(CurrenciesMixed, match="CNY"):
        read_focus(tmp_path / "f.csv")


def test_a_missing_mandatory_column_is_named(focus, tmp_path):
    write_focus(focus.drop(columns=["ListCost"]), tmp_path / "f.csv")
    with pytest.raises(CostError, match="ListCost"):
        read_focus(tmp_path / "f.csv")


def test_a_cost_that_is_no_number_is_an_error(focus, tmp_path):
    (tmp_path / "f.csv").write_text(focus.assign(BilledCost="much").to_csv(index=False), encoding="utf-8")
    with pytest.raises(CostError, match="much"):
        read_focus(tmp_path / "f.csv")
    (tmp_path / "g.csv").write_text(focus.assign(BilledCost="").to_csv(index=False), encoding="utf-8")
    with pytest.raises(CostError, match="BilledCost is not a number"):
        read_focus(tmp_path / "g.csv")


def test_a_run_without_times_cannot_be_a_charge(ledger):
    with pytest.raises(CostError, match="a seed 0 has no start or end"):
        focus_of(ledger.assign(started_at_s=float("nan")), BILLING, job="tiny", run_id="r")


def test_a_run_that_never_started_is_a_charge_of_nothing_at_the_time_it_was_made(runs, launches, price):
    never = {"run_s": 0.0, "started_at_s": None, "ended_at_s": None, "submitted_at_s": 1_767_312_000.0}
    ledger = ledger_of(runs(), launches(never), None, {"a": price()})
    focus = focus_of(ledger, BILLING, job="tiny", run_id="r")
    assert focus["BilledCost"].sum() == 0.0
    assert set(focus["ChargePeriodStart"]) == {pd.Timestamp("2026-01-02T00:00Z")}


def test_another_suffix_is_refused(focus, tmp_path):
    with pytest.raises(CostError, match="xlsx"):
        write_focus(focus, tmp_path / "f.xlsx")
    with pytest.raises(CostError, match="xlsx"):
        read_focus(tmp_path / "f.xlsx")
