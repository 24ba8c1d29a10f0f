"""Planning: sample sizes and powers that R's packages print, and what cannot be planned."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind
from statsmodels.stats.power import TTestIndPower

from seedance_ops.stats.interval_power import Room, power_of_interval, power_of_welch_interval
from seedance_ops.stats.outcomes import NotJudgeable
from seedance_ops.stats.power import (
    Demand,
    SeedPlan,
    Spread,
    power_with,
    runs_needed,
    spread_of,
    spread_of_differences,
)


def spread(sd=1.0, *, scale="absolute", design="welch", freedom=100):
    return Spread(sd=sd, scale=scale, design=design, degrees_of_freedom=freedom, source="assumed")


def planned(of, demand, **more):
    plan = runs_needed(of, demand, **more)
    assert isinstance(plan, SeedPlan)
    return plan


@pytest.mark.parametrize(("cv", "n", "power"), [(0.2, 20, 0.8346802), (0.3, 40, 0.815845)])
def test_the_power_of_tost_as_powertost_prints_it(cv, n, power):
    # R package PowerTOST, sampleN.TOST(CV, theta0 = 0.95, design = "2x2"): limits 0.8 and 1.25, df n − 2,
    # error s·√(2/n) with s² = log(1 + CV²).
    room = Room(math.log(0.8 / 0.95), math.log(1.25 / 0.95))
    found = power_of_interval(room, math.sqrt(math.log1p(cv**2) * 2 / n), n - 2, 0.05)
    assert found == pytest.approx(power, abs=2e-6)


def test_one_bound_needs_what_r_prints_for_a_t_test():
    # power.t.test(power = .90, delta = 1, sd = 1): n = 22.02110 at two-sided 0.05; one-sided: n = 17.84713.
    gate = planned(spread(), Demand.change_at_most(0.0), expected_change=-1.0, target_power=0.9)
    assert gate.n_per_variant == 23
    margin = planned(spread(), Demand.non_inferior(1.0, "lower"), target_power=0.9)
    assert margin.n_per_variant == 18


def test_one_bound_has_the_power_of_the_noncentral_t():
    expected = TTestIndPower().power(1.2, nobs1=9, alpha=0.025, alternative="larger")
    found = power_of_interval(Room(-1.2, math.inf), math.sqrt(2 / 9), 16, 0.025)
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("n", [4, 9])
def test_welchs_interval_has_its_own_power(n):
    generator = np.random.default_rng(0)
    ours, theirs = generator.normal(1.5, 1.0, (40_000, n)), generator.normal(0.0, 1.0, (40_000, n))
    p_values = ttest_ind(ours, theirs, axis=1, equal_var=False, alternative="greater").pvalue
    found = power_of_welch_interval(Room(-1.5, math.inf), 1.0, n, 0.025)
    assert found == pytest.approx(np.mean(p_values <= 0.025), abs=0.007)  # three binomial standard errors


def test_pairs_have_one_sample_and_its_degrees_of_freedom():
    generator = np.random.default_rng(0)
    differences = generator.normal(0.8, 1.0, (20_000, 8))
    t_values = differences.mean(axis=1) / differences.std(axis=1, ddof=1) * np.sqrt(8)
    found = power_with(8, 1.0, spread(design="paired"), Demand.change_at_least(0.0), 0.8)
    assert found == pytest.approx(np.mean(t_values > 2.364624), abs=0.01)  # t(0.975) on 7 df, from tables


def test_the_relative_scale_is_that_of_logs():
    relative = planned(spread(0.1, scale="relative"), Demand.change_at_most(-0.2), expected_change=-0.3)
    absolute = planned(spread(0.1), Demand.change_at_most(math.log(0.8)), expected_change=math.log(0.7))
    assert relative.n_per_variant == absolute.n_per_variant


@settings(deadline=None, max_examples=40)
@given(st.floats(0.05, 2.0), st.floats(0.1, 3.0), st.sampled_from(["at_most", "within"]))
def test_the_plan_is_the_smallest_that_reaches_the_power(sd, distance, kind):
    demand = Demand.change_at_most(distance) if kind == "at_most" else Demand.equivalent_within(distance)
    plan = runs_needed(spread(sd), demand)
    if isinstance(plan, NotJudgeable):
        return
    assert plan.power >= 0.8
    if plan.n_per_variant > 3:
        assert power_with(plan.n_per_variant - 1, sd, spread(sd), demand, 0.0) < 0.8


def test_a_small_pilot_is_planned_for_with_caution():
    # df 4: √(4 ÷ χ²(0.2; 4) = 1.649) = 1.557 (tables).
    assert spread(freedom=4).upper() == pytest.approx(1.557, abs=1e-3)
    plan = planned(spread(0.5, freedom=4), Demand.equivalent_within(0.5))
    assert plan.n_per_variant_cautious > plan.n_per_variant


def test_the_spread_is_pooled_within_variants():
    # Variances 1 (n 3) and 4 (n 5): (2·1 + 4·4) ÷ 6 = 3.
    pilot = [pd.Series([1.0, 2.0, 3.0]), pd.Series([100.0, 104.0, 102.0, 102.0 - 2 * 2**0.5, 102.0])]
    first, second = (series.var(ddof=1) for series in pilot)
    found = spread_of(pilot, scale="absolute", source="pilot")
    assert isinstance(found, Spread)
    assert found.sd**2 == pytest.approx((2 * first + 4 * second) / 6)
    assert found.degrees_of_freedom == 6


def test_the_spread_of_pairs_is_that_of_their_differences():
    found = spread_of_differences(
        pd.Series([2.0, 4.0, 9.0]), pd.Series([1.0, 2.0, 6.0]), scale="absolute", source="pilot"
    )
    assert isinstance(found, Spread)
    assert (found.sd, found.design) == (pytest.approx(1.0), "paired")  # differences 1, 2, 3


@pytest.mark.parametrize("pilot", [[], [[1.0, 2.0]], [[1.0, 1.0, 1.0]], [[1.0, 2.0, math.nan]]])
def test_a_pilot_that_tells_nothing_plans_nothing(pilot):
    found = spread_of([pd.Series(runs) for runs in pilot], scale="absolute", source="pilot")
    assert isinstance(found, NotJudgeable)
    assert runs_needed(found, Demand.change_at_most(0.0)) == found


@pytest.mark.parametrize(
    ("demand", "change", "reason"),
    [
        (Demand.change_at_most(-0.2), -0.1, "does not meet the gate"),
        (Demand.equivalent_within(0.1), 0.1, "does not meet the gate"),
        (Demand.equivalent_within(1e-5), 0.0, "more than 10000 runs"),
        (Demand.change_at_most(0.1), math.nan, "must be finite"),
    ],
)
def test_what_no_number_of_runs_shows_is_said(demand, change, reason):
    outcome = runs_needed(spread(), demand, expected_change=change)
    assert isinstance(outcome, NotJudgeable)
    assert reason in outcome.reason
