"""Permutation as a cross-check: exact values by counting, and its agreement with the t test."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from seedance_ops.stats.outcomes import NotJudgeable
from seedance_ops.stats.permutation import PermutationCheck, permutation_check


def checked(ours, theirs, *, pairs_by_seed=False, scale="absolute"):
    outcome = permutation_check(
        pd.Series(ours, dtype=float), pd.Series(theirs, dtype=float), pairs_by_seed=pairs_by_seed, scale=scale
    )
    assert isinstance(outcome, PermutationCheck)
    return outcome


def test_complete_separation_of_3_and_3_runs_is_2_of_20_labellings():
    outcome = checked([1.0, 2.0, 3.5], [11.0, 12.0, 13.0])
    assert outcome.exact
    assert outcome.p_value == pytest.approx(0.1)
    assert outcome.smallest_p_value == pytest.approx(0.1)


def test_4_differences_of_one_sign_are_2_of_16():
    outcome = checked([1.0, 2.0, 3.0, 4.0], [0.5, 1.0, 1.3, 2.9], pairs_by_seed=True)
    assert outcome.design == "paired"
    assert outcome.exact
    assert outcome.p_value == pytest.approx(0.125)


def test_too_few_runs_to_reach_alpha_contradict_nothing():
    outcome = checked([1.0, 2.0, 3.5], [11.0, 12.0, 13.0])
    assert outcome.t_test_p_value < 0.05
    assert outcome.agrees()


def test_ten_runs_are_permuted_at_random_and_agree_with_the_t_test():
    generator = np.random.default_rng(1)
    outcome = checked(generator.normal(3.0, 1.0, 10), generator.normal(0.0, 1.0, 10))
    assert not outcome.exact
    assert outcome.agrees()


def test_no_difference_is_agreed_on():
    generator = np.random.default_rng(2)
    outcome = checked(generator.lognormal(size=10), generator.lognormal(size=10), scale="relative")
    assert outcome.p_value == pytest.approx(outcome.t_test_p_value, abs=0.05)


def test_constant_runs_are_not_judgeable():
    constant = pd.Series([1.0, 1.0, 1.0])
    assert isinstance(permutation_check(constant, constant, pairs_by_seed=False), NotJudgeable)
