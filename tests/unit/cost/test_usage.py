"""What runs recorded reaches the ledger summed and in full, or not at all, and FOCUS keeps it."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.cost.errors import BadQuantity
from seedance_ops.cost.focus import Billing, focus_of, ledger_from, read_focus, write_focus
from seedance_ops.cost.ledger import check_against, ledger_of, run_totals
from seedance_ops.cost.ledger_table import USAGE
from seedance_ops.cost.not_priced import not_priced
from seedance_ops.cost.run_cost import price_runs
from seedance_ops.cost.unit_prices import OtherPrices, UnitPrice
from seedance_ops.cost.usage import known_usage

PRICES = OtherPrices(
    requests_usd_per_1000={"put": UnitPrice(usd=0.005, key="put"), "get": UnitPrice(usd=0.0004, key="get")},
    egress_usd_per_gb=UnitPrice(usd=0.09, key="egress"),
    energy_usd_per_kwh=UnitPrice(usd=0.2, key="tariff"),
)


def recorded(*rows: tuple[str, int, int, str, str, str, float | None]) -> pd.DataFrame:
    """As a run's table has them: variant, seed, rank, stage, component, tier, quantity; and more columns."""
    names = ("variant", "seed", "rank", "stage", "component", "tier", "quantity")
    table = pd.DataFrame(rows, columns=list(names)).assign(submission=1, method="counted")
    return table.astype({"quantity": "float64"})


TWO_RANKS = recorded(
    ("a", 0, 0, "run", "requests", "put", 1500.0),
    ("a", 0, 1, "run", "requests", "put", 500.0),
    ("a", 0, 1, "checkpoint", "requests", "put", 1000.0),
    ("a", 0, 0, "run", "requests", "list", 7.0),
    ("a", 0, 0, "run", "egress", "-", 2.0),
    ("a", 0, 1, "run", "egress", "-", 1.0),
    ("a", 0, 0, "run", "energy", "-", 0.25),
    ("a", 0, 1, "run", "energy", "-", 0.5),
)


def test_ranks_and_flushes_are_summed_by_stage_and_priced(runs, launches, price, tmp_path):
    prices = {"a": price(2.0)}
    ledger = ledger_of(runs(), launches(), None, prices, other=PRICES, usage=TWO_RANKS)
    found = {
        (row["stage"], row["component"], row["tier"]): (row["quantity"], row["cost_usd"])
        for row in ledger.to_dict("records")
    }
    assert found["run", "requests", "put"] == pytest.approx((2.0, 0.01))
    assert found["checkpoint", "requests", "put"] == pytest.approx((1.0, 0.005))
    assert found["run", "egress", "-"] == pytest.approx((3.0, 0.27))
    assert found["run", "energy", "-"] == pytest.approx((0.75, 0.15))
    assert ("run", "requests", "list") not in found
    check_against(ledger, price_runs(runs(), launches(), prices))
    (total,) = run_totals(ledger).to_dict("records")
    assert total["other_usd"] == pytest.approx(0.01 + 0.005 + 0.27 + 0.15)

    timed = ledger.assign(started_at_s=0.0, ended_at_s=3600.0)
    focus = focus_of(timed, Billing(account_id="x", provider="y"), job="j", run_id="r", decimals=9)
    write_focus(focus, tmp_path / "bill.csv")
    back = ledger_from(read_focus(tmp_path / "bill.csv"))
    pd.testing.assert_frame_equal(back, timed)


def test_what_was_recorded_without_a_price_is_named_with_its_quantity(runs, launches, price):
    ledger = ledger_of(runs(), launches(), None, {"a": price()}, usage=TWO_RANKS)
    reasons = {(gone.component, gone.tier): gone.reason for gone in not_priced(ledger, None, TWO_RANKS)}
    assert reasons["requests", "put"] == "3000 requests were counted; no price per 1,000 was given"
    assert reasons["requests", "list"].startswith("7 requests")
    assert reasons["egress", "-"].startswith("3 GB were sent to the object store; no price per GB")
    assert reasons["energy", "-"].startswith("0.75 kWh were measured; no tariff")
    priced = ledger_of(runs(), launches(), None, {"a": price()}, other=PRICES, usage=TWO_RANKS)
    gone = {(item.component, item.tier) for item in not_priced(priced, None, TWO_RANKS)}
    assert gone == {("host", "-"), ("storage", "-"), ("requests", "list")}


def test_energy_of_which_a_part_is_unknown_is_in_no_row_and_named(runs, launches, price):
    usage = pd.concat([TWO_RANKS, recorded(("a", 0, 2, "run", "energy", "-", None))], ignore_index=True)
    ledger = ledger_of(runs(), launches(), None, {"a": price()}, other=PRICES, usage=usage)
    assert "energy" not in set(ledger["component"])
    assert set(ledger["component"]) >= {"requests", "egress"}
    reasons = {gone.component: gone.reason for gone in not_priced(ledger, None, usage)}
    assert reasons["energy"] == "not measured"


def test_energy_that_some_runs_lack_is_named_beside_that_of_the_others(runs, launches, price):
    usage = pd.concat([TWO_RANKS, recorded(("a", 1, 0, "run", "energy", "-", None))], ignore_index=True)
    both = pd.concat([launches(), launches({"seed": 1})], ignore_index=True)
    ledger = ledger_of(runs(), both, None, {"a": price()}, other=PRICES, usage=usage)
    assert ledger.loc[ledger["component"] == "energy", "seed"].tolist() == [0]
    reasons = {gone.component: gone.reason for gone in not_priced(ledger, None, usage)}
    assert reasons["energy"].startswith("not measured in 1 runs")


@pytest.mark.parametrize("quantity", [-1.0, math.inf])
def test_a_quantity_that_cannot_be_is_refused(quantity):
    with pytest.raises(BadQuantity, match=r"usage\.quantity of a seed 0"):
        known_usage(recorded(("a", 0, 0, "run", "energy", "-", quantity)))


def test_no_usage_is_a_typed_table():
    assert known_usage(TWO_RANKS.iloc[:0]).dtypes.astype(str).to_dict() == USAGE


ROWS = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 3), st.sampled_from(["run", "checkpoint"]),
        st.just("requests"), st.sampled_from(["put", "get"]), st.floats(0, 1e9),
    ),
    max_size=20,
)  # fmt: skip


@settings(deadline=None, max_examples=25)
@given(ROWS)
def test_nothing_is_lost_or_made_up_in_the_sum(rows):
    usage = recorded(*rows)
    known = known_usage(usage)
    assert known["quantity"].sum() == pytest.approx(usage["quantity"].sum())
    assert not known.duplicated(["variant", "seed", "stage", "component", "tier"]).any()
