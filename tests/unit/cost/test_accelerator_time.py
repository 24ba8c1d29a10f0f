"""Billed accelerator time is split along the steps' critical path (R2.1), and the parts are all of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.cost.accelerator_time import time_parts
from seedance_ops.cost.focus import Billing, focus_of
from seedance_ops.cost.ledger import check_against, ledger_of
from seedance_ops.cost.run_cost import price_runs

UNKNOWN = dict.fromkeys(
    ("train_elapsed_s", "checkpoint_stall_s", "path_compute_s", "path_network_s", "path_storage_s"), math.nan
)
# Of an hour half is training: 1,200 s computing, 300 s network, 180 s storage, and 120 s of neither.
PATH = {
    "train_elapsed_s": 1800.0,
    "checkpoint_stall_s": 180.0,
    "path_compute_s": 1200.0,
    "path_network_s": 300.0,
    "path_storage_s": 180.0,
}


def hours_of(seconds, billed_h=8.0, accelerators=8.0):
    parts = time_parts(billed_h=billed_h, accelerators=accelerators, seconds=UNKNOWN | seconds)
    return {(part.stage, part.component, part.tier): part.hours for part in parts}


def test_an_hour_of_eight_accelerators_by_hand():
    assert hours_of(PATH) == pytest.approx(
        {
            ("train", "accelerator_time", "compute"): 8 / 3,
            ("train", "accelerator_time", "network"): 2 / 3,
            ("checkpoint", "accelerator_time", "-"): 0.4,
            ("train", "idle", "-"): 4 / 15,
            ("overhead", "idle", "-"): 4.0,
        }
    )


def test_a_part_that_was_not_there_has_no_row():
    found = hours_of(PATH | {"path_compute_s": 1800.0, "path_network_s": 0.0, "path_storage_s": 0.0})
    assert found == pytest.approx(
        {("train", "accelerator_time", "compute"): 4.0, ("overhead", "idle", "-"): 4.0}
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"path_network_s": math.nan},
        {"path_network_s": 1000.0},  # the path would be longer than the steps
        {"path_storage_s": -1.0},
    ],
)
def test_a_path_that_is_unknown_or_cannot_be_splits_nothing(wrong):
    assert hours_of(PATH | wrong) == pytest.approx(
        {
            ("train", "accelerator_time", "-"): 3.6,
            ("checkpoint", "accelerator_time", "-"): 0.4,
            ("overhead", "idle", "-"): 4.0,
        }
    )


def test_without_the_training_time_everything_is_one_part():
    assert hours_of({}) == {("run", "accelerator_time", "-"): 8.0}


def test_where_the_sessions_clock_runs_ahead_the_parts_shrink_to_what_was_billed():
    found = hours_of(PATH, billed_h=2.0)
    assert sum(found.values()) == pytest.approx(2.0)
    assert found["train", "accelerator_time", "compute"] == pytest.approx(2.0 * 1200 / 1800)


seconds = st.one_of(st.just(0.0), st.floats(1e-3, 1e5))


@given(compute=seconds, network=seconds, storage=seconds, idle=seconds, overhead=st.floats(-10.0, 1e4))
def test_the_parts_are_all_of_the_bill_and_none_is_negative(compute, network, storage, idle, overhead):
    elapsed = compute + network + storage + idle
    billed_h = max(0.0, 4.0 * (elapsed + overhead) / 3600.0)
    path = {"path_compute_s": compute, "path_network_s": network, "path_storage_s": storage}
    found = hours_of(path | {"train_elapsed_s": elapsed}, billed_h=billed_h, accelerators=4.0)
    assert sum(found.values()) == pytest.approx(billed_h, rel=1e-12, abs=1e-12)
    assert min(found.values()) >= 0.0


def test_the_rows_sum_to_the_run_to_the_cent(runs, launches, price):
    two = [PATH, PATH | {"variant": "b", "seed": 3, "path_compute_s": 1234.5, "path_network_s": 77.7}]
    launched = launches({}, {"variant": "b", "seed": 3, "run_s": 3333.3})
    prices = {"a": price(2.0), "b": price(0.7)}
    ledger = ledger_of(runs(*two), launched, None, prices)
    check_against(ledger, price_runs(runs(*two), launched, prices))
    assert {"compute", "network"} <= set(ledger["tier"])
    focus = focus_of(ledger, Billing(account_id="1", provider="p"), job="j", run_id="r", decimals=2)
    cents = focus.groupby("x_variant")["BilledCost"].sum()
    assert cents.to_dict() == pytest.approx({"a": 16.0, "b": round(8 * 3333.3 / 3600 * 0.7, 2)}, abs=1e-9)
