"""F and p: the published pairs that cannot be, closed forms, and rounding."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.stats.f_p import PRange, Rounded, feasible_degrees_of_freedom, p_range
from seedance_ops.stats.outcomes import NotJudgeable


def printed(text):
    """``"4.82"`` stands for 4.82 ± 0.005."""
    return Rounded(float(text), 0.5 * 10.0 ** -len(text.partition(".")[2]))


# The report, R2.5: two groups each, so df1 = 1.
PAIRS = [("4.82", "0.012"), ("0.91", "0.408")]


@pytest.mark.parametrize(("f", "p"), PAIRS)
def test_the_published_pairs_are_impossible_for_two_groups(f, p):
    assert feasible_degrees_of_freedom(printed(f), printed(p), 1, range(1, 20_000)) == ()


@pytest.mark.parametrize(("f", "p"), PAIRS)
def test_they_fit_three_groups_of_about_sixty_runs(f, p):
    found = feasible_degrees_of_freedom(printed(f), printed(p), 2, range(1, 200))
    assert isinstance(found, tuple)
    assert 57 in found


def test_p_for_three_groups_by_its_closed_form():
    # df1 = 2: p = (1 + 2F ÷ df2)^(−df2 ÷ 2).
    found = p_range(Rounded(4.82, 0.0), 2, 57)
    assert isinstance(found, PRange)
    assert found.lowest == found.highest == pytest.approx((1 + 2 * 4.82 / 57) ** (-57 / 2))


def test_p_at_infinite_degrees_of_freedom_by_its_closed_form():
    # χ²(2): p = exp(−F); two groups: p = erfc(√(F ÷ 2)), the least that any df2 gives: 0.0281, not 0.012.
    assert p_range(Rounded(4.82, 0.0), 2, math.inf).lowest == pytest.approx(math.exp(-4.82))
    least = p_range(Rounded(4.82, 0.0), 1, math.inf).lowest
    assert least == pytest.approx(math.erfc(math.sqrt(4.82 / 2)))
    assert least == pytest.approx(0.0281, abs=5e-5)


def test_rounding_decides_the_edge():
    # p(F = 4.82, df1 = 2) at df2 = 45 is 0.0127 by the closed form, printed 0.013.
    assert 45 not in feasible_degrees_of_freedom(printed("4.82"), printed("0.012"), 2, range(1, 200))
    assert 45 in feasible_degrees_of_freedom(printed("4.82"), printed("0.013"), 2, range(1, 200))
    assert 45 in feasible_degrees_of_freedom(
        printed("4.82"), printed("0.012"), 2, range(1, 200), tolerance=0.001
    )


@given(st.floats(0.0, 100.0), st.integers(1, 5), st.integers(2, 500))
def test_a_pair_that_was_computed_fits(f_value, df1, df2):
    exact = p_range(Rounded(f_value, 0.0), df1, df2)
    assert isinstance(exact, PRange)
    f, p = printed(f"{f_value:.2f}"), printed(f"{exact.lowest:.3f}")
    assert df2 in feasible_degrees_of_freedom(f, p, df1, [df2], tolerance=1e-9)


@pytest.mark.parametrize(
    ("f", "p", "df1", "df2"),
    [
        (-1.0, 0.5, 1, 10),
        (math.nan, 0.5, 1, 10),
        (1.0, 1.5, 1, 10),
        (1.0, math.nan, 1, 10),
        (1.0, 0.5, 0, 10),
    ],
)
def test_what_is_no_f_p_or_degree_of_freedom_is_not_judgeable(f, p, df1, df2):
    found = feasible_degrees_of_freedom(Rounded(f, 0.0), Rounded(p, 0.0), df1, [df2])
    assert isinstance(found, NotJudgeable)
