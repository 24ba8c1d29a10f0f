"""The ledger adds up, and unit costs have the units they claim."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.cost.catalogue import Price, PriceMissing
from seedance_ops.cost.run_cost import COST_METRICS, COSTS, price_runs, with_costs


def price(usd: float) -> Price:
    return Price.model_validate(
        {
            "key": "k",
            "usd_per_accelerator_hour": usd,
            "source": "a list",
            "date": "2026-01-02",
            "basis": "list",
        }
    )


def launch(variant="a", seed=0, run_s=3600.0, queue_s=0.0, accelerators=8):
    return {
        "variant": variant,
        "seed": seed,
        "num_nodes": 1,
        "accelerators_per_node": accelerators,
        "run_s": run_s,
        "queue_s": queue_s,
    }


def run(variant="a", seed=0, model_flops=8 * 312e12 * 3600, elapsed_s=1800.0, target_s=900.0):
    return {
        "variant": variant,
        "seed": seed,
        "model_flops": model_flops,
        "samples": 2000.0,
        "train_elapsed_s": elapsed_s,
        "target_elapsed_s": target_s,
    }


def ledger(runs, launches, usd=1.39):
    prices = {row["variant"]: price(usd) for row in launches}
    return price_runs(pd.DataFrame(runs), pd.DataFrame(launches), prices)


def test_an_a100_at_its_peak_costs_less_than_half_a_cent_per_tflops_hour():
    (row,) = ledger([run()], [launch()]).to_dict("records")
    assert row["usd_per_run"] == pytest.approx(8 * 1.39)
    assert row["usd_per_tflops_hour"] == pytest.approx(1.39 / 312)
    assert row["usd_per_tflops_hour_training"] == pytest.approx(1.39 / 312 / 2)
    assert row["usd_to_target_quality"] == pytest.approx(4 * 1.39)
    assert row["usd_per_1k_samples"] == pytest.approx(4 * 1.39)


def test_retries_are_paid_for_and_queue_time_is_not():
    launches = [launch(run_s=600.0, queue_s=5.0), launch(run_s=0.0, queue_s=7.0), launch(run_s=1200.0)]
    (row,) = ledger([run()], launches).to_dict("records")
    assert (row["submissions"], row["queue_s"], row["run_s"]) == (3, 12.0, 1800.0)
    assert row["accelerator_hours"] == pytest.approx(4.0)


def test_a_run_that_failed_is_in_the_bill_but_has_no_unit_cost():
    costs = ledger([run()], [launch(), launch(variant="b")])
    failed = costs[costs["variant"] == "b"].iloc[0]
    assert failed["usd_per_run"] == pytest.approx(8 * 1.39)
    assert math.isnan(failed["usd_per_tflops_hour"])


@pytest.mark.parametrize("field", ["model_flops", "elapsed_s", "target_s"])
def test_what_was_not_measured_is_unknown_not_free(field):
    (row,) = ledger([run(**{field: math.nan})], [launch()]).to_dict("records")
    unknown = {name for name in COST_METRICS if math.isnan(row[name])}
    assert unknown
    assert "usd_per_run" not in unknown


def test_no_work_is_not_free_work():
    (row,) = ledger([run(model_flops=0.0)], [launch()]).to_dict("records")
    assert math.isnan(row["usd_per_tflops_hour"])


def test_without_launches_the_ledger_is_empty_and_keeps_its_columns():
    empty = price_runs(pd.DataFrame([run()]), pd.DataFrame(columns=["variant", "seed"]), {})
    assert empty.empty
    assert empty.dtypes.astype(str).to_dict() == COSTS


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.floats(0, 1e6), st.integers(1, 64)),
        min_size=1,
    ),
    st.floats(0.001, 100.0),
)
def test_the_ledger_sums_to_every_launch_at_its_price(rows, usd):
    accelerators = {(variant, seed): count for variant, seed, _, count in rows}
    launches = [launch(v, s, run_s, accelerators=accelerators[v, s]) for v, s, run_s, _ in rows]
    total = sum(row["run_s"] / 3600 * row["accelerators_per_node"] * usd for row in launches)
    costs = ledger([run()], launches, usd)
    assert costs["usd_per_run"].sum() == pytest.approx(total, rel=1e-9, abs=1e-9)
    assert not costs.duplicated(["variant", "seed"]).any()


def test_a_launched_variant_without_a_price_is_an_error():
    with pytest.raises(PriceMissing, match="for a"):
        price_runs(pd.DataFrame([run()]), pd.DataFrame([launch()]), {})


def test_a_doubled_run_is_refused():
    with pytest.raises(pd.errors.MergeError):
        ledger([run(), run()], [launch()])


def test_the_run_table_gains_the_cost_metrics():
    runs = pd.DataFrame([run()])
    joined = with_costs(runs, ledger([run()], [launch()]))
    assert set(COST_METRICS) <= set(joined.columns)
    assert len(joined) == 1
