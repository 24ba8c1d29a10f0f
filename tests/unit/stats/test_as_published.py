"""The published noise control, held against the published code and scipy's documentation (R2.5)."""

from __future__ import annotations

import numpy as np
import pytest

from seedance_ops.stats.as_published import (
    OneWayAnova,
    bootstrap_interval,
    one_way_anova,
    sliding_median,
    z_score,
)
from seedance_ops.stats.outcomes import Interval, NotJudgeable

# Shell measurements of Mytilus (McDonald et al. 1991), the example of scipy.stats.f_oneway.
MYTILUS = (
    [0.0571, 0.0813, 0.0831, 0.0976, 0.0817, 0.0859, 0.0735, 0.0659, 0.0923, 0.0836],
    [0.0873, 0.0662, 0.0672, 0.0819, 0.0749, 0.0649, 0.0835, 0.0725],
    [0.0974, 0.1352, 0.0817, 0.1016, 0.0968, 0.1064, 0.105],
    [0.1033, 0.0915, 0.0781, 0.0685, 0.0677, 0.0697, 0.0764, 0.0689],
    [0.0703, 0.1026, 0.0956, 0.0973, 0.1039, 0.1045],
)


def test_the_median_removes_an_impulse_and_keeps_the_length():
    smoothed = sliding_median(np.array([1.0, 2.0, 100.0, 4.0, 5.0, 6.0]))
    assert smoothed.tolist() == [2.0, 3.0, 4.0, 5.0, 5.5, 5.0]


@pytest.mark.parametrize("window", [0, 2, -1])
def test_a_window_has_a_centre(window):
    with pytest.raises(ValueError, match="odd"):
        sliding_median(np.ones(3), window)


def test_z_scores_have_mean_0_and_deviation_1():
    scores = z_score(np.array([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]))  # mean 5, population sd 2
    assert scores.tolist() == [-1.5, -0.5, -0.5, -0.5, 0.0, 0.0, 1.0, 2.0]


@pytest.mark.parametrize("values", [[1.0, 1.0], [np.nan, 1.0], [1.0], []])
def test_values_without_spread_have_no_z_score_and_no_bootstrap(values):
    assert isinstance(z_score(np.array(values)), NotJudgeable)
    generator = np.random.default_rng(0)
    assert isinstance(bootstrap_interval(np.array(values), generator=generator), NotJudgeable)


def test_a_missing_value_is_not_smoothed_over():
    assert isinstance(sliding_median(np.array([1.0, np.nan, 3.0])), NotJudgeable)


def test_the_bootstrap_is_the_published_loop_without_the_loop():
    data = np.random.default_rng(0).lognormal(size=30)
    draws = np.random.default_rng(1)
    published = [np.mean(draws.choice(data, len(data), replace=True)) for _ in range(20_000)]
    expected = np.percentile(published, [2.5, 97.5])
    found = bootstrap_interval(data, generator=np.random.default_rng(2), resamples=20_000)
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=0.02)


def test_another_statistic_is_resampled_along_its_axis():
    data = np.random.default_rng(3).normal(size=25)
    found = bootstrap_interval(data, generator=np.random.default_rng(4), statistic=np.median)
    assert isinstance(found, Interval)
    assert found.estimate == np.median(data)
    assert {found.low, found.high} <= set(data)  # the median of an odd sample is one of its values


def test_the_bootstrap_takes_numpys_percentiles():
    data = np.random.default_rng(0).lognormal(size=12)
    drawn = []

    def mean(values, axis):
        drawn.append(np.mean(values, axis=axis))
        return drawn[-1]

    found = bootstrap_interval(
        data, generator=np.random.default_rng(2), statistic=mean, resamples=333, alpha=0.1
    )
    assert isinstance(found, Interval)
    resampled = next(means for means in drawn if means.ndim == 1)
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(resampled, [5, 95])))


def test_the_bootstrap_repeats_under_its_seed():
    data = np.arange(10.0)
    first, second = (bootstrap_interval(data, generator=np.random.default_rng(5)) for _ in range(2))
    assert first == second


def test_anova_gives_the_documented_f_and_p():
    result = one_way_anova(*(np.array(group) for group in MYTILUS))
    assert isinstance(result, OneWayAnova)
    assert result.f_value == pytest.approx(7.121019471642447)
    assert result.p_value == pytest.approx(0.0002812242314534544)
    assert (result.between, result.within) == (4, 34)


def test_groups_that_do_not_vary_have_no_f():
    assert isinstance(one_way_anova(np.ones(3), np.zeros(3)), NotJudgeable)
