"""One-sided tests: published and hand-worked values, agreement with TOST, and no pass without evidence."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seedance_ops.stats.equivalence import Equivalence, equivalence
from seedance_ops.stats.non_inferiority import BoundTest, change_test, non_inferiority
from seedance_ops.stats.outcomes import NotJudgeable

SLEEP_1 = pd.Series([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SLEEP_2 = pd.Series([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
values = st.lists(st.floats(0.1, 1000.0), min_size=3, max_size=6)


def judged(ours, theirs, margin, *, better="lower", scale="absolute", pairs_by_seed=False, nature="measured"):
    return non_inferiority(
        pd.Series(ours, dtype=float),
        pd.Series(theirs, dtype=float),
        margin=margin,
        better=better,
        scale=scale,
        pairs_by_seed=pairs_by_seed,
        nature=nature,
    )


def test_one_side_of_the_tost_of_students_sleep_data_as_toster_prints_it():
    # R package TOSTER, introduction: eqb = 0.5, lower t(17.78) = -1.272, p = 0.89: H0 is a difference ≤ -0.5.
    outcome = judged(SLEEP_1, SLEEP_2, 0.5, better="higher")
    assert isinstance(outcome, BoundTest)
    assert outcome.p_value == pytest.approx(0.89, abs=0.005)
    assert not outcome.holds


def test_a_paired_margin_by_hand():
    # As in test_equivalence: t = (-1.58 + 2.5) ÷ 0.388959 = 2.3653 on 9 df; the table's t(0.975) is 2.262.
    outcome = judged(SLEEP_1, SLEEP_2, 2.5, better="higher", pairs_by_seed=True)
    assert isinstance(outcome, BoundTest)
    assert outcome.design == "paired"
    assert 0.01 < outcome.p_value < 0.025
    assert outcome.holds


def test_the_direction_counts():
    faster = judged([1.0, 1.1, 1.2], [5.0, 5.1, 5.2], 0.5, better="lower")
    slower = judged([5.0, 5.1, 5.2], [1.0, 1.1, 1.2], 0.5, better="lower")
    assert isinstance(faster, BoundTest)
    assert isinstance(slower, BoundTest)
    assert faster.holds
    assert not slower.holds


@settings(deadline=None, max_examples=50)
@given(values, values, st.floats(0.01, 0.9), st.sampled_from(["absolute", "relative"]))
def test_tost_is_both_non_inferiorities_at_once(ours, theirs, margin, scale):
    sides = [judged(ours, theirs, margin, better=better, scale=scale) for better in ("lower", "higher")]
    both = equivalence(
        pd.Series(ours), pd.Series(theirs), margin=margin, scale=scale, pairs_by_seed=False, nature="measured"
    )
    assume(isinstance(both, Equivalence))
    assert both.p_value == max(side.p_value for side in sides)


@settings(deadline=None, max_examples=50)
@given(values, values, st.floats(-0.9, 3.0), st.sampled_from(["at_most", "at_least"]))
def test_a_bound_holds_where_the_95_percent_interval_is_on_its_side(ours, theirs, bound, side):
    outcome = change_test(
        pd.Series(ours),
        pd.Series(theirs),
        side=side,
        bound=bound,
        scale="relative",
        pairs_by_seed=False,
        nature="measured",
    )
    assume(isinstance(outcome, BoundTest))
    end = outcome.effect.high if side == "at_most" else outcome.effect.low
    assume(abs(end - bound) > 1e-9)
    assert outcome.holds == (end <= bound if side == "at_most" else end >= bound)


def test_counts_are_judged_by_their_whole_range():
    outcome = judged([100.0, 104.0, 101.0], [100.0] * 3, 0.05, scale="relative", nature="counted")
    assert isinstance(outcome, BoundTest)
    assert outcome.p_value is None
    assert outcome.holds
    tighter = judged([100.0, 104.0, 101.0], [100.0] * 3, 0.03, scale="relative", nature="counted")
    assert isinstance(tighter, BoundTest)
    assert not tighter.holds


@pytest.mark.parametrize("margin", [0.0, -1.0, math.nan, math.inf])
def test_a_margin_is_positive_and_finite(margin):
    assert isinstance(judged(SLEEP_1, SLEEP_2, margin), NotJudgeable)


def test_a_relative_margin_of_everything_demands_nothing():
    outcome = judged([1.0, 2.0, 3.0], [1.0, 2.0, 4.0], 1.0, better="higher", scale="relative")
    assert isinstance(outcome, NotJudgeable)
