"""Equivalence by TOST: published values, agreement with the 90 % interval, and no pass without evidence."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seedance_ops.stats.equivalence import Equivalence, equivalence
from seedance_ops.stats.outcomes import NotJudgeable

SLEEP_1 = pd.Series([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SLEEP_2 = pd.Series([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
values = st.lists(st.floats(0.1, 1000.0), min_size=3, max_size=8).filter(lambda drawn: np.ptp(drawn) > 1e-3)


def tost(ours, theirs, margin, *, scale="absolute", pairs_by_seed=False, nature="measured"):
    return equivalence(
        pd.Series(ours, dtype=float),
        pd.Series(theirs, dtype=float),
        margin=margin,
        scale=scale,
        pairs_by_seed=pairs_by_seed,
        nature=nature,
    )


def test_welch_tost_of_students_sleep_data_as_toster_prints_it():
    # R package TOSTER, introduction: eqb = 0.5, lower t(17.78) = -1.272, p = 0.89.
    outcome = tost(SLEEP_1, SLEEP_2, 0.5)
    assert isinstance(outcome, Equivalence)
    assert outcome.p_value == pytest.approx(0.89, abs=0.005)


def test_paired_tost_by_hand():
    # Differences: mean -1.58, sd 1.229995, n 10, so t = (-1.58 + 2.5) / 0.388959 = 2.3653 on 9 df; one-sided
    # p lies between the table's t(0.975) = 2.262 and t(0.99) = 2.821.
    outcome = tost(SLEEP_1, SLEEP_2, 2.5, pairs_by_seed=True)
    assert isinstance(outcome, Equivalence)
    assert outcome.design == "paired"
    assert 0.01 < outcome.p_value < 0.025
    assert outcome.effect.low == pytest.approx(-1.58 - 1.8331 * 0.388959, abs=1e-4)


@settings(deadline=None)
@given(values, values, st.floats(0.01, 500.0), st.booleans())
def test_a_significant_test_is_an_interval_inside_the_margin(ours, theirs, margin, paired):
    if paired:
        size = min(len(ours), len(theirs))
        ours, theirs = ours[:size], theirs[:size]
    outcome = tost(ours, theirs, margin, pairs_by_seed=paired)
    assume(isinstance(outcome, Equivalence))
    assume(abs(outcome.p_value - 0.05) > 1e-6)
    assert (outcome.p_value < 0.05) == (outcome.effect.low > -margin and outcome.effect.high < margin)


@settings(deadline=None)
@given(values, values, st.floats(0.01, 3.0))
def test_the_same_holds_on_the_relative_scale(ours, theirs, margin):
    outcome = tost(ours, theirs, margin, scale="relative")
    assume(isinstance(outcome, Equivalence))
    assume(abs(outcome.p_value - 0.05) > 1e-6)
    assert (outcome.p_value < 0.05) == (outcome.effect.low > -margin and outcome.effect.high < margin)


@settings(deadline=None)
@given(values, values, st.floats(0.01, 500.0), st.integers(0, 2))
def test_a_nan_is_never_equivalent(ours, theirs, margin, place):
    assert isinstance(tost([*ours[:place], math.nan, *ours[place:]], theirs, margin), NotJudgeable)


@pytest.mark.parametrize("ours", [[0.0, 1.0, 2.0], [-1.0, 1.0, 2.0]])
def test_a_ratio_needs_positive_values(ours):
    assert isinstance(tost(ours, [1.0, 2.0, 3.0], 0.1, scale="relative"), NotJudgeable)


def test_counts_are_equivalent_when_their_whole_range_is():
    outcome = tost([100.0, 100.0, 101.0], [100.0] * 3, 0.02, scale="relative", nature="counted")
    assert isinstance(outcome, Equivalence)
    assert (outcome.effect.low, outcome.effect.high) == pytest.approx((0.0, 0.01))
    assert outcome.p_value is None


def test_two_different_programs_are_called_equivalent_in_5_percent_of_studies():
    """At the edge of the margin the error of the first kind is α."""
    generator = np.random.default_rng(11)
    wrong = sum(
        tost(generator.normal(1.0, 0.3, 8), generator.normal(0.0, 0.3, 8), 1.0).p_value < 0.05
        for _ in range(600)
    )
    assert wrong / 600 <= 0.05 + 0.027


@pytest.mark.parametrize("scale", ["absolute", "relative"])
def test_pairs_without_any_difference_are_not_judgeable_and_say_so(scale):
    outcome = tost([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 0.5, scale=scale, pairs_by_seed=True)
    assert isinstance(outcome, NotJudgeable)
    assert outcome.reason == "identical in every run: nothing varies, so a test has nothing to go by"


def test_pairs_with_the_same_difference_are_not_called_identical():
    outcome = tost([1.5, 2.5, 3.5], [1.0, 2.0, 3.0], 0.6, pairs_by_seed=True)
    assert isinstance(outcome, NotJudgeable)
    assert "do not vary" in outcome.reason
