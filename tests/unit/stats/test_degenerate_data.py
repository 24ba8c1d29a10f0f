"""Whatever the numbers, every public function gives finite figures or says that it cannot."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from seedance_ops.stats import as_published
from seedance_ops.stats.comparison import compare
from seedance_ops.stats.equivalence import equivalence
from seedance_ops.stats.f_p import Rounded, feasible_degrees_of_freedom
from seedance_ops.stats.groups import games_howell, welch_anova
from seedance_ops.stats.level import level, level_p_value
from seedance_ops.stats.multiplicity import benjamini_hochberg, holm
from seedance_ops.stats.non_inferiority import change_test, non_inferiority
from seedance_ops.stats.outcomes import NotJudgeable
from seedance_ops.stats.permutation import permutation_check
from seedance_ops.stats.power import Demand, runs_needed, spread_of, spread_of_differences

HARD = [
    0.0,
    -0.0,
    1.0,
    1.0 + 1e-15,
    -1.0,
    math.nan,
    math.inf,
    -math.inf,
    5e-324,
    1e-300,
    1e300,
    1.7e308,
    1e60,
]
anything = st.one_of(st.sampled_from(HARD), st.floats(), st.floats(0.5, 2.0))
few = st.lists(anything, max_size=9)
nearly_constant = st.tuples(st.floats(0.1, 10.0), st.integers(2, 8), st.floats(0.0, 1e-12)).map(
    lambda drawn: [drawn[0]] * drawn[1] + [drawn[0] * (1 + drawn[2])]
)
ordinary = st.lists(st.floats(0.01, 1e3), min_size=3, max_size=9)
samples = st.one_of(few, nearly_constant, ordinary)
scales = st.sampled_from(["absolute", "relative"])
natures = st.sampled_from(["measured", "counted"])


@st.composite
def runs(draw):
    """One value per run; sometimes with a seed that stands twice."""
    values = draw(samples)
    seeds = list(range(len(values)))
    if len(values) > 1 and draw(st.integers(0, 9)) == 0:
        seeds[-1] = seeds[0]
    return pd.Series(values, index=seeds, dtype=float)


def numbers_in(found):
    """Every float in a result."""
    if isinstance(found, BaseModel):
        found = found.model_dump()
    elif dataclasses.is_dataclass(found):
        found = dataclasses.asdict(found)
    if isinstance(found, dict):
        return [number for value in found.values() for number in numbers_in(value)]
    if isinstance(found, (list, tuple, np.ndarray)):
        return [number for value in found for number in numbers_in(value)]
    return [float(found)] if isinstance(found, (float, np.floating)) else []


def judged(found):
    if isinstance(found, NotJudgeable):
        assert found.reason
        return
    assert found is not None
    assert all(math.isfinite(number) for number in numbers_in(found))


TESTS = {
    "compare": lambda a, b, x, scale, nature, pairs: compare(a, b, pairs_by_seed=pairs, nature=nature),
    "level": lambda a, b, x, scale, nature, pairs: level(a, nature=nature),
    "level_p_value": lambda a, b, x, scale, nature, pairs: level_p_value(a, side="at_most", bound=x),
    "equivalence": lambda a, b, x, scale, nature, pairs: equivalence(
        a, b, margin=x, scale=scale, pairs_by_seed=pairs, nature=nature
    ),
    "non_inferiority": lambda a, b, x, scale, nature, pairs: non_inferiority(
        a, b, margin=x, better="higher", scale=scale, pairs_by_seed=pairs, nature=nature
    ),
    "change_test": lambda a, b, x, scale, nature, pairs: change_test(
        a, b, side="at_most", bound=x, scale=scale, pairs_by_seed=pairs, nature=nature
    ),
    "welch_anova": lambda a, b, x, scale, nature, pairs: welch_anova({"a": a, "b": b}, scale=scale),
    "spread_of": lambda a, b, x, scale, nature, pairs: spread_of([a, b], scale=scale, source="pilot"),
    "runs_needed": lambda a, b, x, scale, nature, pairs: runs_needed(
        spread_of_differences(a, b, scale=scale, source="pilot"), Demand.equivalent_within(x)
    ),
}


@pytest.mark.filterwarnings("error::RuntimeWarning:seedance_ops")
@pytest.mark.parametrize("name", TESTS)
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(runs(), runs(), st.one_of(anything, st.floats(0.01, 0.5)), st.tuples(scales, natures, st.booleans()))
def test_the_result_is_finite_or_not_judgeable(name, ours, theirs, number, choices):
    judged(TESTS[name](ours, theirs, number, *choices))


@settings(deadline=None, max_examples=15)
@given(runs(), runs(), scales, st.booleans())
def test_permutations_too(ours, theirs, scale, pairs):
    judged(permutation_check(ours, theirs, pairs_by_seed=pairs, scale=scale))


@settings(deadline=None, max_examples=10)
@given(runs(), runs(), scales)
def test_all_pairs_too(ours, theirs, scale):
    judged(games_howell({"ours": ours, "theirs": theirs}, scale=scale))


@settings(deadline=None)
@given(samples, samples)
def test_the_published_statistics_too(ours, theirs):
    first, second = np.array(ours, dtype=float), np.array(theirs, dtype=float)
    judged(as_published.sliding_median(first))
    judged(as_published.z_score(first))
    judged(as_published.bootstrap_interval(first, generator=np.random.default_rng(0)))
    judged(as_published.one_way_anova(first, second))


@settings(deadline=None, max_examples=15)
@given(st.dictionaries(st.sampled_from("abcdef"), anything, max_size=5))
def test_families_of_p_values_too(p_values):
    for correct in (holm, benjamini_hochberg):
        outcomes = correct(p_values)
        assert list(outcomes) == list(p_values)
        for outcome in outcomes.values():
            judged(outcome)


@settings(deadline=None)
@given(st.tuples(anything, anything), st.tuples(anything, anything), st.integers(-2, 5), anything)
def test_f_and_p_too(f, p, df1, tolerance):
    judged(feasible_degrees_of_freedom(Rounded(*f), Rounded(*p), df1, [-2, 0, 1, 57, 10**6], tolerance))
