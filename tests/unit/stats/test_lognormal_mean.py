"""The bound on the mean of widely spread runs: its error, and how it behaves under units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.stats.level import level, level_p_value
from seedance_ops.stats.lognormal_mean import lognormal_mean
from seedance_ops.stats.outcomes import Interval

WIDE = st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=12).filter(
    lambda logs: float(np.std(logs, ddof=1)) > 0.3
)


@pytest.mark.parametrize("n", [5, 10])
def test_the_upper_end_holds_the_mean_of_lognormal_runs_as_often_as_it_says(n: int) -> None:
    """Nominally 97.5 %; Student's upper end holds it in 82 to 85 % of such studies."""
    generator = np.random.default_rng(7)
    truth = np.exp(0.5)
    bounds = [lognormal_mean(generator.lognormal(size=n)) for _ in range(1000)]
    held = sum(bound is None or bound.upper(0.95) >= truth for bound in bounds)
    assert 955 <= held <= 995


@settings(deadline=None, max_examples=50)
@given(logs=WIDE, scale=st.floats(1e-6, 1e6))
def test_the_bound_has_the_unit_of_the_runs(logs: list[float], scale: float) -> None:
    values = np.exp(np.array(logs))
    plain, scaled = lognormal_mean(values), lognormal_mean(values * scale)
    assert plain is not None
    assert scaled is not None
    assert scaled.upper(0.95) == pytest.approx(scale * plain.upper(0.95), rel=1e-9)


@settings(deadline=None, max_examples=50)
@given(logs=WIDE, bound=st.floats(1e-3, 1e6))
def test_p_and_the_interval_say_the_same(logs: list[float], bound: float) -> None:
    values = pd.Series(np.exp(np.array(logs)))
    interval = level(values, nature="measured")
    p_value = level_p_value(values, side="at_most", bound=bound)
    assert isinstance(interval, Interval)
    assert isinstance(p_value, float)
    assert (p_value <= 0.025) == (interval.high <= bound)


def test_runs_that_spread_little_keep_students_interval() -> None:
    """Student's by hand: 100 ± 4.3027 × 1/√3."""
    interval = level(pd.Series([99.0, 100.0, 101.0]), nature="measured")
    assert isinstance(interval, Interval)
    assert interval.high == pytest.approx(100 + 4.302653 / np.sqrt(3), rel=1e-6)


def test_a_value_of_zero_or_below_has_no_logarithm_and_no_such_bound() -> None:
    assert lognormal_mean(np.array([0.0, 1.0, 5.0])) is None
    assert lognormal_mean(np.array([-1.0, 1.0, 5.0])) is None


def test_values_that_span_dozens_of_decades_have_a_finite_interval() -> None:
    found = level(pd.Series([1.0, 1e60, 1e60]), nature="measured")
    assert isinstance(found, Interval)
    assert found.low < 1e60 < found.high < float("inf")
