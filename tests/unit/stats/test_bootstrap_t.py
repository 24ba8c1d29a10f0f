"""The bootstrap-t: when it is used, what it keeps, and that it only ever widens."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.stats.bootstrap_t import RESAMPLES, Roots, is_skewed, roots_of_one, roots_of_two
from seedance_ops.stats.comparison import compare
from seedance_ops.stats.inference import Inference, infer_mean
from seedance_ops.stats.outcomes import Comparison

SKEWED = np.array([1.0, 1.1, 1.2, 1.3, 1.5, 1.8, 2.5, 9.0])
EVEN = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
skewed_samples = st.lists(st.floats(0.1, 5.0), min_size=5, max_size=9).map(lambda v: np.array([*v, 200.0]))


def test_skewness_is_judged_against_its_error_under_normality():
    # n = 8: G1's error is √(6·8·7 ÷ (6·9·11)) = √(336 ÷ 594) = 0.752, so 1.504 is the limit. By hand, the
    # second sample (seven 0, one 1) has g1 = 2.268, G1 = 2.268 · √56 ÷ 6 = 2.828.
    assert not is_skewed(EVEN)
    assert is_skewed(np.array([0.0] * 7 + [1.0]))


def test_one_normal_sample_in_twenty_is_called_skewed():
    generator = np.random.default_rng(0)
    called = np.mean([is_skewed(generator.normal(size=20)) for _ in range(4000)])
    assert called == pytest.approx(0.05, abs=0.02)


def test_four_runs_are_never_called_skewed():
    assert not is_skewed(np.array([0.0, 0.0, 0.0, 1.0]))


def test_without_skew_the_interval_is_students():
    inference = infer_mean(EVEN)
    assert isinstance(inference, Inference)
    assert inference.roots is None


@settings(deadline=None, max_examples=50)
@given(skewed_samples, st.sampled_from([0.9, 0.95]))
def test_the_interval_is_never_narrower_than_students(values, confidence):
    inference = infer_mean(values)
    assert isinstance(inference, Inference)
    student = Inference(inference.difference, inference.standard_error, inference.degrees_of_freedom)
    ours, theirs = inference.interval(confidence), student.interval(confidence)
    assert ours.low <= theirs.low <= theirs.high <= ours.high
    assert inference.p_above(1.0) >= student.p_above(1.0)
    assert inference.p_below(1.0) >= student.p_below(1.0)


@settings(deadline=None, max_examples=50)
@given(skewed_samples, st.floats(-10.0, 300.0), st.sampled_from([0.9, 0.95]))
def test_a_one_sided_p_agrees_with_the_interval(values, bound, confidence):
    inference = infer_mean(values)
    assert isinstance(inference, Inference)
    interval, alpha = inference.interval(confidence), (1 - confidence) / 2
    if abs(interval.low - bound) > 1e-9:
        assert (inference.p_above(bound) <= alpha + 1e-12) == (interval.low > bound)
    if abs(interval.high - bound) > 1e-9:
        assert (inference.p_below(bound) <= alpha + 1e-12) == (interval.high < bound)


def test_swapping_gives_the_mirror_image_and_the_order_of_runs_does_not_matter():
    forth, back = roots_of_two(SKEWED, EVEN), roots_of_two(EVEN[::-1], SKEWED)
    assert forth is not None
    assert back is not None
    np.testing.assert_allclose(forth.ascending, -back.ascending[::-1])


def test_an_explicit_generator_is_used():
    first, second = (roots_of_one(SKEWED, np.random.default_rng(seed)) for seed in (1, 2))
    assert first is not None
    assert second is not None
    assert not np.array_equal(first.ascending, second.ascending)


def test_ties_that_leave_no_finite_bound_give_none():
    assert roots_of_one(np.array([0.0] * 7 + [1.0])) is None


def test_the_2_5_percent_point_of_39_roots_is_the_first():
    roots = Roots(np.arange(39.0))
    assert roots.quantiles(0.95) == (0.0, 38.0)
    assert roots.p_at_least(38.0) == 2 / 40
    assert roots.p_at_most(-1.0) == 1 / 40
    assert RESAMPLES % 40 == 39


def test_right_skew_raises_the_upper_end():
    """A mean of skewed runs lies likelier far above than far below what was seen (Hall 1988)."""
    inference = infer_mean(SKEWED)
    assert isinstance(inference, Inference)
    interval = inference.interval(0.95)
    assert interval.high - interval.estimate > interval.estimate - interval.low


def compared(treatment, baseline):
    outcome = compare(pd.Series(treatment), pd.Series(baseline), pairs_by_seed=False, nature="measured")
    assert isinstance(outcome, Comparison)
    return outcome


def test_a_comparison_of_skewed_runs_has_the_bootstrap_t_beside_it():
    assert compared(EVEN, EVEN + 1).difference_bootstrap_t is None
    outcome = compared(SKEWED, EVEN)
    assert outcome.difference_bootstrap_t is not None
    assert outcome.difference_bootstrap_t.estimate == outcome.difference.estimate


def test_in_another_unit_it_is_the_same():
    once, thousandfold = compared(SKEWED, EVEN), compared(SKEWED * 1000, EVEN * 1000)
    assert once.difference_bootstrap_t is not None
    assert thousandfold.difference_bootstrap_t is not None
    assert thousandfold.difference_bootstrap_t.high == pytest.approx(1000 * once.difference_bootstrap_t.high)
