"""Comparisons give published values, keep their invariants, and refuse what cannot be judged."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seedance_ops.stats.comparison import compare
from seedance_ops.stats.level import level, level_p_value
from seedance_ops.stats.outcomes import Comparison, NotJudgeable

# Student's sleep data (1908), as in R's `sleep`; its results are printed in R's documentation of t.test.
SLEEP_1 = pd.Series([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SLEEP_2 = pd.Series([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])

values = st.lists(st.floats(0.1, 1000.0), min_size=3, max_size=8).filter(lambda drawn: np.ptp(drawn) > 1e-3)


def measured(treatment, baseline, *, pairs_by_seed=False):
    outcome = compare(
        pd.Series(treatment, dtype=float),
        pd.Series(baseline, dtype=float),
        pairs_by_seed=pairs_by_seed,
        nature="measured",
    )
    assert isinstance(outcome, Comparison)
    return outcome


def test_welch_gives_the_published_interval_of_students_sleep_data():
    outcome = measured(SLEEP_1, SLEEP_2)
    assert outcome.design == "welch"
    assert outcome.p_value == pytest.approx(0.07939, abs=5e-6)
    assert outcome.difference.low == pytest.approx(-3.3654832, abs=5e-7)
    assert outcome.difference.high == pytest.approx(0.2054832, abs=5e-7)
    assert outcome.ratio is None


def test_pairing_gives_the_published_paired_interval():
    outcome = measured(SLEEP_1, SLEEP_2, pairs_by_seed=True)
    assert outcome.design == "paired"
    assert outcome.p_value == pytest.approx(0.002833, abs=5e-7)
    assert outcome.difference.low == pytest.approx(-2.4598858, abs=5e-7)
    assert outcome.difference.high == pytest.approx(-0.7001142, abs=5e-7)


def test_pairs_are_matched_by_seed_not_by_position():
    shuffled = SLEEP_2.sample(frac=1.0, random_state=1)
    assert measured(SLEEP_1, shuffled, pairs_by_seed=True) == measured(SLEEP_1, SLEEP_2, pairs_by_seed=True)


def test_other_seeds_are_not_paired():
    other = SLEEP_2.set_axis(range(1, 11))
    outcome = compare(SLEEP_1, other, pairs_by_seed=True, nature="measured")
    assert isinstance(outcome, Comparison)
    assert outcome.design == "welch"


@settings(deadline=None)
@given(values, values, st.floats(1e-6, 1e6))
def test_the_ratio_does_not_depend_on_the_unit(ours, theirs, factor):
    before = measured(ours, theirs).ratio
    after = measured(np.array(ours) * factor, np.array(theirs) * factor).ratio
    assert before is not None
    assert after is not None
    assert [after.estimate, after.low, after.high] == pytest.approx(
        [before.estimate, before.low, before.high], rel=1e-6
    )


@settings(deadline=None)
@given(values, values)
def test_swapping_the_two_inverts_the_ratio_and_negates_the_difference(ours, theirs):
    forth, back = measured(ours, theirs), measured(theirs, ours)
    assert forth.ratio is not None
    assert back.ratio is not None
    assume(forth.ratio.low > 1e-100)
    assert back.ratio.low == pytest.approx(1 / forth.ratio.high, rel=1e-6)
    assert back.ratio.high == pytest.approx(1 / forth.ratio.low, rel=1e-6)
    assert back.difference.low == pytest.approx(-forth.difference.high, rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(values, values)
def test_the_interval_holds_the_estimate_and_agrees_with_the_p_value(ours, theirs):
    outcome = measured(ours, theirs)
    assert outcome.difference.low <= outcome.difference.estimate <= outcome.difference.high
    assert outcome.p_value is not None
    assume(abs(outcome.p_value - 0.05) > 1e-6)
    assert (outcome.p_value < 0.05) == (outcome.difference.low > 0 or outcome.difference.high < 0)


@pytest.mark.parametrize("nature", ["measured", "counted"])
@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0], "the variant has 2 runs"),
        ([1.0, 2.0, 3.0], [1.0], "the baseline has 1 runs"),
        ([], [], "the variant has 0 runs"),
        ([1.0, 2.0, math.nan], [1.0, 2.0, 3.0], "the variant has no finite value in 1 of 3 runs"),
        ([1.0, 2.0, 3.0], [1.0, 2.0, math.inf], "the baseline has no finite value in 1 of 3 runs"),
    ],
)
def test_too_few_or_broken_values_are_not_judgeable(ours, theirs, reason, nature):
    outcome = compare(
        pd.Series(ours, dtype=float), pd.Series(theirs, dtype=float), pairs_by_seed=True, nature=nature
    )
    assert isinstance(outcome, NotJudgeable)
    assert outcome.reason.startswith(reason)


@pytest.mark.parametrize("pairs_by_seed", [True, False])
def test_measurements_that_do_not_vary_have_no_error_to_judge_by(pairs_by_seed):
    constant = pd.Series([2.0, 2.0, 2.0])
    outcome = compare(constant, constant, pairs_by_seed=pairs_by_seed, nature="measured")
    assert isinstance(outcome, NotJudgeable)


def test_a_seed_that_stands_twice_is_not_judgeable():
    doubled = pd.Series([1.0, 2.0, 3.0, 4.0], index=[0, 1, 1, 2])
    assert isinstance(compare(doubled, SLEEP_2, pairs_by_seed=False, nature="measured"), NotJudgeable)


def test_counts_are_exact_and_nothing_is_inferred():
    outcome = compare(
        pd.Series([400.0, 400.0, 500.0]), pd.Series([1000.0] * 3), pairs_by_seed=False, nature="counted"
    )
    assert isinstance(outcome, Comparison)
    assert outcome.ratio is not None
    assert (outcome.ratio.low, outcome.ratio.high) == (0.4, 0.5)
    assert outcome.p_value is None


def test_the_minimum_detectable_difference_is_detected_in_four_of_five_studies():
    generator = np.random.default_rng(3)
    smallest = [
        measured(generator.normal(size=10), generator.normal(size=10)).minimum_detectable_difference
        for _ in range(200)
    ]
    truth = float(np.mean([value for value in smallest if value is not None]))
    found = sum(
        measured(generator.normal(truth, 1.0, 10), generator.normal(size=10)).p_value < 0.05
        for _ in range(400)
    )
    assert found / 400 == pytest.approx(0.8, abs=0.07)


@pytest.mark.parametrize("n", [5, 10, 30])
def test_the_interval_covers_the_true_difference_in_95_percent_of_studies(n):
    generator = np.random.default_rng(n)
    covered = 0
    for _ in range(600):
        interval = measured(generator.normal(1.0, 2.0, n), generator.normal(0.0, 1.0, n)).difference
        covered += interval.low <= 1.0 <= interval.high
    assert covered / 600 == pytest.approx(0.95, abs=0.027)  # three binomial standard errors


def test_a_level_is_students_interval():
    interval = level(SLEEP_2, nature="measured")  # R: t.test(group 2), 95 percent: 0.8976775 3.7623225
    assert not isinstance(interval, NotJudgeable)
    assert (interval.low, interval.high) == pytest.approx((0.8976775, 3.7623225), abs=5e-7)


def test_the_p_value_of_a_bound_on_the_level_agrees_with_its_interval():
    # The 95 % interval of group 2 is 0.8976775 … 3.7623225 (R), so p is 0.025 at either end.
    assert level_p_value(SLEEP_2, side="at_least", bound=0.8976775) == pytest.approx(0.025, abs=1e-6)
    assert level_p_value(SLEEP_2, side="at_most", bound=3.7623225) == pytest.approx(0.025, abs=1e-6)
    assert level_p_value(SLEEP_2, side="at_most", bound=0.0) > 0.99
