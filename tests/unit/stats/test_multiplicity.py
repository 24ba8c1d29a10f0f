"""Families of tests: the example of Benjamini and Hochberg (1995), Holm by hand, and broken members."""

from __future__ import annotations

import math

import pytest

from seedance_ops.stats.multiplicity import Adjusted, benjamini_hochberg, holm
from seedance_ops.stats.outcomes import NotJudgeable

# Benjamini and Hochberg (1995), § 4.1: thrombolysis; Bonferroni finds three, their procedure four.
PUBLISHED = [
    *[0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344],
    *[0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000],
]
FAMILY = {str(position): p_value for position, p_value in enumerate(PUBLISHED)}


def rejected(outcomes):
    return sum(isinstance(outcome, Adjusted) and outcome.rejected for outcome in outcomes.values())


def test_the_published_family():
    assert rejected(benjamini_hochberg(FAMILY)) == 4
    assert rejected(holm(FAMILY)) == 3


def test_holm_by_hand():
    # 0.01·3 = 0.03; 0.02·2 = 0.04; max(0.04, 0.03·1) = 0.04.
    outcomes = holm({"a": 0.01, "b": 0.03, "c": 0.02})
    assert [outcome.adjusted_p_value for outcome in outcomes.values()] == pytest.approx([0.03, 0.04, 0.04])
    assert list(outcomes) == ["a", "b", "c"]


def test_one_that_broke_makes_it_no_easier_for_the_others():
    outcomes = holm({"a": 0.02, "broke": NotJudgeable(reason="no runs")})
    assert isinstance(outcomes["broke"], NotJudgeable)
    assert outcomes["a"].adjusted_p_value == 0.04


@pytest.mark.parametrize("p_value", [math.nan, -0.1, 1.1, math.inf])
def test_what_is_no_p_value_is_not_judgeable(p_value):
    assert isinstance(holm({"a": p_value})["a"], NotJudgeable)


def test_no_test_is_no_family():
    assert holm({}) == {}
