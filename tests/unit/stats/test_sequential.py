"""Declared looks: bounds that R's packages print, the error kept, and undeclared looks refused."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from seedance_ops.stats.sequential import SequentialPlan, UndeclaredLookError, spending_bounds


def test_obrien_fleming_bounds_as_gsdesign_prints_them():
    # gsDesign(alpha = .025, test.type = 1, sfu = sfLDOF, timing = c(.5, .75, 1))$upper$bound
    bounds = spending_bounds((0.5, 0.75, 1.0), 0.025, "obrien_fleming")
    assert bounds == pytest.approx((2.962588, 2.359018, 2.014084), abs=2e-5)


def test_obrien_fleming_bounds_as_ldbounds_prints_them():
    # bounds(c(.1, .33, 1), iuse = c(1, 1), alpha = c(.025, .025)): 6.9913, 3.7308, 1.9605.
    bounds = spending_bounds((0.1, 0.33, 1.0), 0.025, "obrien_fleming")
    assert bounds == pytest.approx((6.9913, 3.7308, 1.9605), abs=2e-4)


def test_pocock_spends_what_its_formula_says_and_no_more():
    # α·ln(1 + (e − 1)·½) = 0.025 · 0.62011 = 0.015503 at half, so z = 2.1571; the rest by simulation.
    bounds = spending_bounds((0.5, 1.0), 0.025, "pocock")
    assert bounds[0] == pytest.approx(2.1571, abs=5e-4)
    paths = np.cumsum(np.random.default_rng(0).normal(size=(400_000, 2)), axis=1) / np.sqrt([1, 2])
    assert np.mean((paths > bounds).any(axis=1)) == pytest.approx(0.025, abs=0.001)


def test_one_look_is_an_ordinary_test():
    plan = SequentialPlan(looks=(10,), alpha=0.05)
    assert plan.alpha_at(10) == pytest.approx(0.05)
    assert plan.confidence_at(10) == pytest.approx(0.9)


def test_a_look_that_was_not_declared_is_refused():
    plan = SequentialPlan(looks=(5, 10, 20))
    with pytest.raises(UndeclaredLookError, match=r"at 7 runs .* 5, 10, 20"):
        plan.stops_at(7, 0.0001)


@pytest.mark.parametrize("looks", [(), (2, 5), (5, 5), (10, 5)])
def test_looks_ascend_from_three_runs(looks):
    with pytest.raises(ValidationError):
        SequentialPlan(looks=looks)


def test_an_early_look_that_spends_nothing_passes_nobody():
    plan = SequentialPlan(looks=(3, 300))
    assert plan.alpha_at(3) < 1e-12
    assert plan.alpha_at(300) == pytest.approx(0.025, abs=1e-4)


@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
def test_looking_three_times_keeps_the_error_where_peeking_doubles_it(spending):
    plan = SequentialPlan(looks=(5, 10, 20), spending=spending)
    generator = np.random.default_rng(1)
    ours, theirs = generator.normal(size=(2, 10_000, 20))
    p_values = {
        n: stats.ttest_ind(ours[:, :n], theirs[:, :n], axis=1, equal_var=False, alternative="less").pvalue
        for n in plan.looks
    }
    stopped = np.any([p_value <= plan.alpha_at(n) for n, p_value in p_values.items()], axis=0)
    peeked = np.any([p_value <= 0.025 for p_value in p_values.values()], axis=0)
    assert stopped.mean() <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / 10_000)
    assert peeked.mean() > 0.04
