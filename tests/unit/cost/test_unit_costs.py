"""Unit costs are sums over sums, with intervals over runs, or say why not."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from seedance_ops.cost.ratio import UnitCost, UnitCostUnknown, ratio_of_sums
from seedance_ops.cost.run_cost import price_runs
from seedance_ops.cost.unit_costs import unit_costs


def ratio(numerator, denominator, **more):
    fields = {"name": "n", "unit": "USD", "per": "work", "seed": 1} | more
    return ratio_of_sums(np.asarray(numerator, float), np.asarray(denominator, float), **fields)


def test_a_long_run_weighs_what_it_costs():
    # 1 USD a unit in three long runs, 10 in a short one: the mean of ratios is 3.2, the sums say 1.03.
    found = ratio([100.0, 90.0, 120.0, 1.0], [100.0, 99.0, 105.0, 0.1])
    assert isinstance(found, UnitCost)
    assert found.estimate == pytest.approx(311.0 / 304.1)
    assert found.low < found.estimate < found.high


def test_below_ten_runs_the_interval_is_students_by_hand():
    # y = 1, 2, 3 over x = 1: R = 2, e = −1, 0, 1, se(R) = √(2/6), se(log R) = 0.288675; t(2) = 4.302653.
    found = ratio([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
    assert isinstance(found, UnitCost)
    half = 4.302653 * 0.288675
    assert (found.low, found.high) == pytest.approx((2.0 / math.exp(half), 2.0 * math.exp(half)), rel=1e-5)
    assert "Student t" in found.method


def test_from_ten_runs_on_it_is_bootstrapped_the_same_for_the_same_seed():
    usd, work = np.arange(1.0, 11.0), np.full(10, 2.0)
    one, two, other = (ratio(usd, work, seed=seed) for seed in (7, 7, 8))
    assert isinstance(one, UnitCost)
    assert isinstance(other, UnitCost)
    assert "bootstrap" in one.method
    assert one == two
    assert one.low != other.low
    assert 0.0 < one.low < 2.75 < one.high


def test_scaling_scales_the_interval():
    plain, thousand = (ratio([1.0, 2.0, 3.0], [5.0, 5.0, 6.0], scale=scale) for scale in (1.0, 1e3))
    assert isinstance(plain, UnitCost)
    assert isinstance(thousand, UnitCost)
    assert (thousand.low, thousand.high) == pytest.approx((1e3 * plain.low, 1e3 * plain.high))


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_the_interval_covers_what_it_says(runs):
    """Lognormal cost, 300 times: three binomial errors and two points below 95 % would be too few."""
    generator = np.random.default_rng(5)
    hits = 0
    for trial in range(300):
        work = generator.uniform(1.0, 3.0, runs)
        found = ratio(2.0 * work * generator.lognormal(-0.02, 0.2, runs), work, seed=trial)
        assert isinstance(found, UnitCost)
        hits += found.low <= 2.0 <= found.high
    assert hits / 300 >= 0.93 - 3 * math.sqrt(0.95 * 0.05 / 300)


def test_runs_that_differ_without_bounds_give_no_interval():
    found = ratio([1e300, 1e-300, 1e-300], [1e-300, 1e300, 1.0])
    assert isinstance(found, UnitCostUnknown)


@pytest.mark.parametrize(
    ("numerator", "denominator", "reason", "estimate"),
    [
        ([], [], "no_runs", None),
        ([1.0, 2.0], [1.0, 1.0], "too_few_runs", 1.5),
        ([1.0, math.nan, 2.0], [1.0, 1.0, 1.0], "not_finite", None),
        ([1.0, 2.0, 2.0], [1.0, math.inf, 1.0], "not_finite", None),
        ([-1.0, 2.0, 2.0], [1.0, 1.0, 1.0], "not_finite", None),
        ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], "nothing_done", None),
        ([2.0, 2.0, 2.0], [1.0, 1.0, 1.0], "no_spread", 2.0),
        ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], "no_spread", 0.0),
    ],
)
def test_degenerate_input_is_a_typed_reason_and_never_an_interval(numerator, denominator, reason, estimate):
    found = ratio(numerator, denominator)
    assert isinstance(found, UnitCostUnknown)
    assert (found.reason, found.estimate) == (reason, estimate)


@pytest.fixture
def study(runs, launches, price):
    seeds = [{"seed": seed, "run_s": 3600.0 + 60.0 * seed} for seed in range(4)]
    table = runs(*({"seed": seed, "target_elapsed_s": 900.0 + seed} for seed in range(4)))
    return table, price_runs(table, launches(*seeds), {"a": price(1.39)})


def by_name(found):
    return {item.name: item for item in found["a"]}


def test_both_denominators_of_the_tflops_hour_are_named_and_right(study):
    found = by_name(unit_costs(*study))
    whole, training = found["usd_per_tflops_hour_whole_run"], found["usd_per_tflops_hour_training"]
    # At the A100's peak of 312 TFLOPS for half an hour of a run of 61.5 minutes on average.
    assert whole.estimate == pytest.approx(1.39 / 312 * 3690 / 1800)
    assert "whole run" in whole.denominator
    assert training.estimate == pytest.approx(1.39 / 312)  # FACTS: 0.0045 USD per TFLOPS·h
    assert isinstance(training, UnitCostUnknown)  # the training times are equal: no spread, so no interval
    assert found["usd_per_1k_samples"].estimate == pytest.approx(8 * 1.39 * 3690 / 3600 / 2)


def test_a_run_that_never_reached_the_target_is_not_dropped(study):
    table, costs = study
    assert isinstance(by_name(unit_costs(table, costs))["usd_per_run_to_target"], UnitCost)
    costs.loc[0, "usd_to_target_quality"] = math.nan
    found = by_name(unit_costs(table, costs))["usd_per_run_to_target"]
    assert isinstance(found, UnitCostUnknown)
    assert found.reason == "never_reached"
    assert "1 of 4" in found.explanation


def test_energy_is_reported_where_it_was_measured_and_only_there(study):
    table, costs = study
    assert by_name(unit_costs(table, costs))["energy_kwh_per_run"].reason == "not_measured"
    energy = table[["variant", "seed"]].assign(energy_kwh=[1.0, 1.1, 0.9, 1.0])
    found = by_name(unit_costs(table, costs, energy=energy))
    assert found["energy_kwh_per_run"].estimate == pytest.approx(1.0)
    assert found["energy_kwh_per_sample"].estimate == pytest.approx(1.0 / 2000)
    partly = unit_costs(table, costs, energy=energy.head(3))
    assert by_name(partly)["energy_kwh_per_run"].reason == "not_finite"


def test_a_doubled_run_is_refused(study):
    table, costs = study
    with pytest.raises(pd.errors.MergeError):
        unit_costs(table, pd.concat([costs, costs]))
