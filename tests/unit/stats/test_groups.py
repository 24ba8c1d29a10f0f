"""Several groups: values that R prints, agreement with Welch's t for two, and what cannot be judged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from seedance_ops.stats.groups import (
    GamesHowell,
    WelchAnova,
    games_howell,
    games_howell_p_values,
    welch_anova,
)
from seedance_ops.stats.outcomes import NotJudgeable

# Beall (1942), as R's `InsectSprays`.
SPRAYS = {
    "A": [10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13],
    "B": [11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13],
    "C": [0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4],
    "D": [3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4],
    "E": [3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4],
    "F": [11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13],
}
# Student's sleep data; R's documentation prints oneway.test(extra ~ group): F = 3.4626, denom df = 17.776,
# p = 0.07939.
SLEEP = {
    "1": [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    "2": [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
}


def series(groups):
    return {name: pd.Series(values, dtype=float) for name, values in groups.items()}


def test_welch_anova_of_insect_sprays_as_r_prints_it():
    # oneway.test(count ~ spray, InsectSprays): F = 36.065, num df = 5.000, denom df = 30.043, p = 7.999e-12.
    outcome = welch_anova(series(SPRAYS))
    assert isinstance(outcome, WelchAnova)
    assert outcome.f_value == pytest.approx(36.065, abs=5e-4)
    assert (outcome.between, outcome.within) == (5, pytest.approx(30.043, abs=5e-4))
    assert outcome.p_value == pytest.approx(7.999e-12, rel=1e-3)


def test_welch_anova_of_two_groups_as_r_prints_it():
    outcome = welch_anova(series(SLEEP))
    assert isinstance(outcome, WelchAnova)
    assert outcome.f_value == pytest.approx(3.4626, abs=5e-5)
    assert outcome.within == pytest.approx(17.776, abs=5e-4)
    assert outcome.p_value == pytest.approx(0.07939, abs=5e-6)


def test_games_howell_of_two_groups_is_welchs_t():
    outcome = games_howell(series(SLEEP))
    assert isinstance(outcome, GamesHowell)
    (pair,) = outcome.pairs
    assert pair.p_value == pytest.approx(0.07939, abs=5e-5)
    assert (pair.effect.low, pair.effect.high) == pytest.approx((-3.3654832, 0.2054832), abs=1e-4)


def test_games_howell_tells_pairs_apart():
    outcome = games_howell({name: series(SPRAYS)[name] for name in ("A", "B", "C")})
    assert isinstance(outcome, GamesHowell)
    found = {(pair.first, pair.second): pair.p_value for pair in outcome.pairs}
    assert found["A", "B"] > 0.5
    assert found["A", "C"] < 0.001


def test_on_the_relative_scale_a_ratio_comes_out():
    groups = {"a": [1.0, 1.1, 0.9], "b": [2.0, 2.2, 1.8]}
    outcome = games_howell(series(groups), scale="relative")
    assert isinstance(outcome, GamesHowell)
    assert outcome.pairs[0].effect.estimate == pytest.approx(-0.5)


@pytest.mark.parametrize("test", [welch_anova, games_howell])
@pytest.mark.parametrize(
    "groups",
    [
        {},
        {"a": [1.0, 2.0, 3.0]},
        {"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0]},
        {"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, np.nan]},
        {"a": [1.0, 2.0, 3.0], "b": [1.0, 1.0, 1.0]},
    ],
)
def test_what_no_group_can_tell_is_not_judgeable(test, groups):
    assert isinstance(test(series(groups)), NotJudgeable)


def test_the_p_values_alone_are_those_of_the_whole_test():
    generator = np.random.default_rng(3)
    groups = {
        name: pd.Series(generator.normal(shift, 1.0, 6)) for name, shift in zip("abc", (0, 1, 2), strict=True)
    }
    whole, alone = games_howell(groups), games_howell_p_values(groups)
    assert [(pair.first, pair.second, pair.p_value) for pair in alone] == [
        (pair.first, pair.second, pair.p_value) for pair in whole.pairs
    ]
    assert isinstance(
        games_howell_p_values({"a": groups["a"], "b": pd.Series([1.0, 1.0, 1.0])}), NotJudgeable
    )
