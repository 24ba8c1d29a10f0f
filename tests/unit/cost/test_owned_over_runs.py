"""Own hardware beside rented, over the runs of a job (R4.2): by hand, with intervals, or not judgeable."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from seedance_ops.cost.owned import owned_beside_rented
from seedance_ops.cost.owned_over_runs import STATED, owned_over_runs
from seedance_ops.cost.ownership import OwnedHardware, OwnedMachine
from seedance_ops.cost.ratio import UnitCost, UnitCostUnknown, ratio_of_sums
from seedance_ops.cost.run_cost import price_runs

# 20,000 USD a year over 5,000 h and 8 accelerators: 0.50 USD; 4 kW × 1.25 × 0.16 USD/kWh over 8: 0.10 USD.
MACHINE = {
    "accelerators": 8,
    "purchase_usd": 80_000.0,
    "annual_depreciation_rate": 0.25,
    "effective_hours_per_year": 5000.0,
    "power_w": 4000.0,
    "pue": 1.25,
    "tariff_usd_per_kwh": 0.16,
}
MEASURED = {name: value for name, value in MACHINE.items() if name != "power_w"}
RUN_S = (100.0, 110.0, 120.0)  # two accelerators, at 1.80 USD: 0.18333 accelerator·h in all, 0.33 USD
FLOPS = 3.6e15  # 0.001 PFLOPS·h


def found_of(runs, launches, price, machine, *, run_s=RUN_S, kwh=None, flops=FLOPS, usd=1.8, **more):
    launched = launches(
        *({"seed": seed, "accelerators_per_node": 2, "run_s": took} for seed, took in enumerate(run_s))
    )
    table = runs(*({"seed": seed, "model_flops": flops} for seed in range(len(run_s))))
    if kwh is not None:
        table["energy_kwh"] = kwh
    costs = price_runs(table, launched, {"a": price(usd)})
    return owned_over_runs(table, costs, OwnedMachine.model_validate(machine), **more)["a"]


def test_three_runs_of_a_quarter_of_a_machine_by_hand(runs, launches, price):
    found = found_of(runs, launches, price, MACHINE)
    assert found.power_source == "stated"
    assert found.depreciation.estimate == pytest.approx(0.50 * 0.55 / 3 / 0.003)  # 30.56
    assert found.power.estimate == pytest.approx(0.10 * 0.55 / 3 / 0.003)
    assert found.owned.estimate == pytest.approx(36.6667, abs=1e-4)
    assert found.rented.estimate == pytest.approx(0.33 / 0.003)
    # 2,500 USD a year an accelerator ÷ 1.70 USD that an hour saves.
    assert found.break_even.estimate == pytest.approx(2500.0 / 1.7)
    assert found.cheaper == "owned"


def test_it_is_the_model_of_one_machine_at_what_the_runs_achieved(runs, launches, price):
    found = found_of(runs, launches, price, MACHINE)
    machine_h = sum(RUN_S) / 3600.0 * 2 / 8
    fields = {name: value for name, value in MACHINE.items() if name != "accelerators"}
    beside = owned_beside_rented(OwnedHardware(**fields, achieved_pflops=0.003 / machine_h), 110.0)
    assert found.depreciation.estimate == pytest.approx(beside.owned.depreciation_usd)
    assert found.power.estimate == pytest.approx(beside.owned.power_usd)
    assert found.break_even.estimate == pytest.approx(beside.break_even_hours_per_year)


def test_owned_and_rented_vary_alike_over_runs_and_the_break_even_not_at_all(runs, launches, price):
    found = found_of(runs, launches, price, MACHINE)
    for end in ("low", "high"):
        assert getattr(found.owned, end) / getattr(found.rented, end) == pytest.approx(0.6 / 1.8)
    assert found.owned.low < found.owned.estimate < found.owned.high
    assert found.break_even.low == found.break_even.estimate == found.break_even.high
    assert found.break_even.method == STATED


def test_measured_energy_stands_in_for_power_that_is_not_stated(runs, launches, price):
    kwh = np.array([0.05, 0.06, 0.07])
    found = found_of(runs, launches, price, MEASURED, kwh=kwh)
    assert found.power_source == "measured"
    assert found.power.estimate == pytest.approx(0.18 * 1.25 * 0.16 / 0.003)  # 12 USD
    assert found.owned.estimate == pytest.approx(30.5556 + 12.0, abs=1e-4)
    # 0.036 USD over 0.18333 accelerator·h: 0.19636 USD an hour.
    assert found.break_even.estimate == pytest.approx(2500.0 / (1.8 - 0.036 * 3 / 0.55))
    power = ratio_of_sums(
        kwh * 0.2, np.array(RUN_S) * 2 / 3600, name="p", unit="USD", per="accelerator hours", seed=0
    )
    assert found.break_even.low == pytest.approx(2500.0 / (1.8 - power.low))
    assert found.break_even.high == pytest.approx(2500.0 / (1.8 - power.high))
    assert found.cheaper == "owned"


def test_stated_power_goes_before_measured_energy(runs, launches, price):
    found = found_of(runs, launches, price, MACHINE, kwh=[9.0, 9.0, 9.0])
    assert found.power_source == "stated"
    assert found.power.estimate == pytest.approx(6.1111, abs=1e-4)


@pytest.mark.parametrize("kwh", [None, [0.05, math.nan, 0.07]])
def test_power_that_is_neither_stated_nor_measured_leaves_depreciation_alone(kwh, runs, launches, price):
    found = found_of(runs, launches, price, MEASURED, kwh=kwh)
    assert found.power_source == "unknown"
    for lacking in (found.power, found.owned, found.break_even):
        assert isinstance(lacking, UnitCostUnknown)
        assert (lacking.reason, lacking.estimate) == ("not_measured", None)
    assert isinstance(found.depreciation, UnitCost)
    assert found.cheaper == "not_judgeable"


def test_two_runs_have_figures_and_no_interval(runs, launches, price):
    found = found_of(runs, launches, price, MEASURED, run_s=RUN_S[:2], kwh=[0.05, 0.06])
    for lacking in (found.owned, found.rented, found.break_even):
        assert isinstance(lacking, UnitCostUnknown)
        assert lacking.reason == "too_few_runs"
        assert lacking.estimate is not None
    assert found.cheaper == "not_judgeable"


def test_without_flops_there_is_no_cost_of_them_and_still_a_break_even(runs, launches, price):
    found = found_of(runs, launches, price, MACHINE, flops=math.nan)
    assert isinstance(found.owned, UnitCostUnknown)
    assert found.owned.reason == "not_finite"
    assert found.break_even.estimate == pytest.approx(2500.0 / 1.7)


@pytest.mark.parametrize(("usd", "words"), [(0.1, "power alone"), (0.2, "at least 25000 h a year")])
def test_where_renting_is_cheaper_at_any_hours_that_is_said(usd, words, runs, launches, price):
    found = found_of(runs, launches, price, MACHINE, usd=usd)
    assert found.break_even.reason == "never_pays"
    assert words in found.break_even.explanation
    assert found.cheaper == "rented"


def test_between_the_ends_of_the_interval_nothing_is_cheaper(runs, launches, price):
    wide = found_of(runs, launches, price, MEASURED, kwh=[0.30, 0.36, 0.39])
    machine = MEASURED | {"effective_hours_per_year": wide.break_even.estimate}
    assert wide.break_even.low < wide.break_even.estimate < wide.break_even.high
    assert found_of(runs, launches, price, machine, kwh=[0.30, 0.36, 0.39]).cheaper == "not_judgeable"


def test_an_interval_of_the_power_that_reaches_the_price_has_no_upper_end(runs, launches, price):
    found = found_of(runs, launches, price, MEASURED, kwh=[0.3, 1.2, 0.6])
    assert found.break_even.reason == "no_interval"
    assert "or never" in found.break_even.explanation
    assert found.cheaper == "not_judgeable"


def test_a_variant_on_other_accelerators_is_not_put_on_the_machine(runs, launches, price):
    found = found_of(runs, launches, price, MACHINE, on_the_machine={"b"})
    assert {found.depreciation.reason, found.owned.reason, found.break_even.reason} == {"other_accelerators"}
    assert found.rented.estimate == pytest.approx(110.0)


@given(
    run_s=st.lists(st.floats(10.0, 1e5), min_size=3, max_size=12, unique=True),
    accelerators=st.integers(1, 64),
)
def test_parts_sum_and_the_size_of_the_machine_at_one_price_an_accelerator_is_no_matter(run_s, accelerators):
    costs = pd.DataFrame({"variant": "a", "seed": range(len(run_s)), "accelerator_hours": run_s})
    costs = costs.assign(usd_per_accelerator_hour=1.8, usd_per_run=1.8 * costs["accelerator_hours"])
    costs = costs.assign(price_key="k", price_basis="list")
    runs = pd.DataFrame({"variant": "a", "seed": range(len(run_s)), "model_flops": 1e18})
    scaled = MACHINE | {
        "accelerators": accelerators,
        "purchase_usd": 10_000.0 * accelerators,
        "power_w": 500.0 * accelerators,
    }
    found = owned_over_runs(runs, costs, OwnedMachine.model_validate(scaled))["a"]
    assert found.owned.estimate == pytest.approx(found.depreciation.estimate + found.power.estimate)
    assert found.owned.estimate == pytest.approx(found.rented.estimate * 0.6 / 1.8)


@pytest.mark.parametrize("name", [*MEASURED])
def test_nothing_but_the_power_may_be_left_out(name):
    with pytest.raises(ValidationError, match=name):
        OwnedMachine.model_validate({key: value for key, value in MACHINE.items() if key != name})
