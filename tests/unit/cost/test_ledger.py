"""The ledger's rows are quantity × price, add up to the run, and say what they lack."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.cost.catalogue import Price, PriceMissing
from seedance_ops.cost.errors import BadQuantity, LedgerDoesNotAddUp
from seedance_ops.cost.ledger import check_against, ledger_of, run_totals
from seedance_ops.cost.ledger_table import LEDGER
from seedance_ops.cost.not_priced import not_priced
from seedance_ops.cost.rounding import rounded_within
from seedance_ops.cost.run_cost import price_runs
from seedance_ops.cost.unit_prices import OtherPrices, StoragePrice, UnitPrice

WRITES = pd.DataFrame(
    [
        {"variant": "a", "seed": 0, "tier": "object", "bytes": 3e9},
        {"variant": "a", "seed": 0, "tier": "object", "bytes": 1e9},
        {"variant": "a", "seed": 0, "tier": "local", "bytes": 4e9},
    ]
)
OTHER = OtherPrices(
    host_usd_per_node_hour=UnitPrice(usd=0.5, key="host"),
    storage_usd_per_gb_month={"object": StoragePrice(usd=0.03, key="s3", kept_days=365.25 / 12)},
    requests_usd_per_1000={"put": UnitPrice(usd=0.005, key="put")},
    egress_usd_per_gb=UnitPrice(usd=0.09, key="egress"),
    energy_usd_per_kwh=UnitPrice(usd=0.2, key="tariff"),
)
USAGE = pd.DataFrame(
    [
        {
            "variant": "a",
            "seed": 0,
            "stage": "checkpoint",
            "component": "requests",
            "tier": "put",
            "quantity": 2e3,
        },
        {"variant": "a", "seed": 0, "stage": "run", "component": "egress", "tier": "-", "quantity": 10.0},
        {"variant": "a", "seed": 0, "stage": "run", "component": "energy", "tier": "-", "quantity": 5.0},
    ]
)


def rows_of(ledger: pd.DataFrame) -> dict[tuple[str, str, str], tuple[float, float]]:
    return {
        (row["stage"], row["component"], row["tier"]): (row["quantity"], row["cost_usd"])
        for row in ledger.to_dict("records")
    }


def test_accelerator_time_is_split_into_training_checkpoints_and_the_rest(runs, launches, price):
    rows = rows_of(ledger_of(runs(), launches(), None, {"a": price(2.0)}))
    # Eight accelerators for an hour at 2 USD. Half an hour of training, 3 minutes of it standing still.
    assert rows["train", "accelerator_time", "-"] == pytest.approx((3.6, 7.2))
    assert rows["checkpoint", "accelerator_time", "-"] == pytest.approx((0.4, 0.8))
    assert rows["overhead", "idle", "-"] == pytest.approx((4.0, 8.0))


def test_queue_time_is_shown_and_not_billed(runs, launches, price):
    ledger = ledger_of(runs(), launches(), None, {"a": price()})
    queue = ledger[ledger["component"] == "queue"].iloc[0]
    assert (queue["quantity"], queue["cost_usd"], queue["source"]) == (2.0, 0.0, "measured")


def test_every_other_component_is_quantity_times_price(runs, launches, price):
    rows = rows_of(ledger_of(runs(), launches(), WRITES, {"a": price()}, other=OTHER, usage=USAGE))
    assert rows["run", "host", "-"] == pytest.approx((1.0, 0.5))
    assert rows["checkpoint", "storage", "object"] == pytest.approx((4.0, 0.12))  # 4 GB for a month
    assert rows["checkpoint", "requests", "put"] == pytest.approx((2.0, 0.01))
    assert rows["run", "egress", "-"] == pytest.approx((10.0, 0.9))
    assert rows["run", "energy", "-"] == pytest.approx((5.0, 1.0))


def test_the_totals_keep_what_usd_per_run_means_apart_from_what_comes_on_top(runs, launches, price):
    ledger = ledger_of(runs(), launches(), WRITES, {"a": price(2.0)}, other=OTHER, usage=USAGE)
    (total,) = run_totals(ledger).to_dict("records")
    assert total["accelerator_usd"] == pytest.approx(16.0)
    assert total["other_usd"] == pytest.approx(0.5 + 0.12 + 0.01 + 0.9 + 1.0)
    assert total["total_usd"] == pytest.approx(18.53)


def test_what_has_no_price_is_absent_and_named(runs, launches, price):
    ledger = ledger_of(runs(), launches(), WRITES, {"a": price()})
    assert set(ledger["component"]) == {"accelerator_time", "idle", "queue"}
    gone = {(item.component, item.tier) for item in not_priced(ledger, WRITES)}
    assert gone == {
        ("host", "-"),
        ("requests", "-"),
        ("egress", "-"),
        ("energy", "-"),
        ("storage", "object"),
        ("storage", "local"),
    }


def test_only_the_tier_without_a_price_is_named(runs, launches, price):
    ledger = ledger_of(runs(), launches(), WRITES, {"a": price()}, other=OTHER, usage=USAGE)
    (gone,) = not_priced(ledger, WRITES)
    assert (gone.component, gone.tier) == ("storage", "local")
    assert "4 GB" in gone.reason


def test_every_row_says_where_its_price_is_from(runs, launches, price):
    own = price(origin="user", basis="contracted")
    ledger = ledger_of(
        runs(), launches(), WRITES, {"a": own}, other=OTHER.model_copy(update={"egress_usd_per_gb": None})
    )
    sources = dict(zip(ledger["component"], ledger["source"], strict=True))
    assert sources == {
        "accelerator_time": "user", "idle": "user", "queue": "measured", "host": "user", "storage": "user",
    }  # fmt: skip
    assert set(ledger.loc[ledger["component"] == "idle", "price_date"]) == {"2026-01-02"}


@pytest.mark.parametrize("runs_known", [False, True])
def test_a_run_of_which_no_training_is_known_is_one_row_and_still_in_the_bill(
    runs_known, runs, launches, price
):
    known = runs({"train_elapsed_s": math.nan}) if runs_known else runs({"variant": "other"})
    rows = rows_of(ledger_of(known, launches(), None, {"a": price()}))
    assert rows["run", "accelerator_time", "-"] == pytest.approx((8.0, 16.0))
    assert ("overhead", "idle", "-") not in rows


def test_a_session_clock_ahead_of_the_launchers_makes_no_negative_row(runs, launches, price):
    ledger = ledger_of(runs({"train_elapsed_s": 3601.0}), launches(), None, {"a": price()})
    assert (ledger["quantity"] >= 0.0).all()
    assert ledger["cost_usd"].sum() == pytest.approx(16.0)


def test_without_launches_the_ledger_is_empty_and_typed(runs, price):
    empty = ledger_of(runs(), pd.DataFrame(columns=["variant", "seed"]), None, {"a": price()})
    assert empty.dtypes.astype(str).to_dict() == LEDGER


def test_a_variant_without_a_price_is_an_error(runs, launches):
    with pytest.raises(PriceMissing, match="for a"):
        ledger_of(runs(), launches(), None, {})


@pytest.mark.parametrize("field", ["run_s", "queue_s"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_time_that_cannot_be_is_refused_by_name(field, value, runs, launches, price):
    broken = launches({field: value})
    with pytest.raises(BadQuantity, match=rf"launches\.{field} of a seed 0 is {value}"):
        ledger_of(runs(), broken, None, {"a": price()})
    with pytest.raises(BadQuantity, match=field):
        price_runs(runs(), broken, {"a": price()})


def test_usage_of_a_run_that_was_not_launched_is_refused(runs, launches, price):
    with pytest.raises(BadQuantity, match="b seed 0: no such run"):
        ledger_of(runs(), launches(), None, {"a": price()}, other=OTHER, usage=USAGE.assign(variant="b"))


def test_usage_that_the_ledger_computes_itself_is_refused(runs, launches, price):
    with pytest.raises(BadQuantity, match="'storage'"):
        ledger_of(
            runs(), launches(), None, {"a": price()}, other=OTHER, usage=USAGE.assign(component="storage")
        )


def test_a_ledger_of_other_launches_does_not_add_up(runs, launches, price):
    prices = {"a": price()}
    ledger = ledger_of(runs(), launches(), None, prices)
    check_against(ledger, price_runs(runs(), launches(), prices))
    with pytest.raises(LedgerDoesNotAddUp, match="a seed 0"):
        check_against(ledger, price_runs(runs(), launches({"run_s": 3700.0}), prices))


SUBMISSIONS = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.integers(0, 2), st.floats(0, 1e6), st.integers(1, 64), st.floats(0, 1e4)
    ),
    min_size=1,
    max_size=8,
)


@settings(deadline=None, max_examples=25)
@given(SUBMISSIONS, st.floats(0.001, 100.0), st.floats(0, 2e6), st.floats(0, 1e5))
def test_the_ledger_sums_to_the_cent_to_what_each_run_cost(submitted, usd, trained_s, stalled_s):
    price = Price.model_validate(
        {"key": "k", "usd_per_accelerator_hour": usd, "source": "list", "date": "2026-01-02", "basis": "list"}
    )
    launches = pd.DataFrame(
        [
            {
                "variant": v,
                "seed": s,
                "num_nodes": 1,
                "accelerators_per_node": n,
                "run_s": run_s,
                "queue_s": queue_s,
            }
            for v, s, run_s, n, queue_s in submitted
        ]
    )
    work = {"model_flops": 1.0, "samples": 1.0, "train_elapsed_s": trained_s, "target_elapsed_s": math.nan}
    runs = pd.DataFrame(
        [{"variant": "a", "seed": s, "checkpoint_stall_s": stalled_s} | work for s in range(3)]
    )
    prices = {"a": price, "b": price}
    ledger = ledger_of(runs, launches, None, prices)
    costs = price_runs(runs, launches, prices)
    check_against(ledger, costs)
    assert (ledger["cost_usd"] >= 0.0).all()
    cents = rounded_within(ledger["cost_usd"], [ledger["variant"], ledger["seed"]])
    of_run = cents.groupby([ledger["variant"], ledger["seed"]]).sum()
    for key, exact in costs.set_index(["variant", "seed"])["usd_per_run"].items():
        assert of_run[key] == pytest.approx(exact, rel=1e-9, abs=0.005 + 1e-9)


def test_rounding_keeps_the_sum_and_favours_the_largest_remainders():
    # Hamilton's method by hand: 0.333 × 3 = 0.999 → 1.00; the first gets the odd cent.
    amounts = pd.Series([1.0 / 3] * 3)
    group = pd.Series([0, 0, 0])
    assert rounded_within(amounts, [group]).tolist() == [0.34, 0.33, 0.33]
    assert rounded_within(pd.Series([0.009, 0.001]), [pd.Series([0, 0])]).tolist() == [0.01, 0.0]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_rounded_amounts_add_up_to_the_rounded_total_and_move_less_than_a_cent(amounts):
    series = pd.Series(amounts)
    rounded = rounded_within(series, [pd.Series([0] * len(series))])
    assert rounded.sum() == pytest.approx(round(series.sum(), 2), abs=0.005 + 1e-6)
    assert ((rounded - series).abs() < 0.01 + 1e-6).all()
