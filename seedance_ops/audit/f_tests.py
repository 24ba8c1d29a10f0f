"""Whether a printed F and its printed p can belong together, at any number of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seedance_ops.audit.claims import FTest
from seedance_ops.audit.judgement import Judgement
from seedance_ops.audit.printed import Printed

if TYPE_CHECKING:
    from seedance_ops.stats import f_p

_GROUPS_TRIED = range(2, 7)


def f_test(claim: FTest) -> Judgement:
    """Every feasible df₂ is tried at df₁ = groups − 1, with F and p anywhere within their rounding."""
    from seedance_ops.stats.f_p import p_range
    from seedance_ops.stats.outcomes import NotJudgeable

    stated = f"F {claim.f_value}, p {claim.p_value}"
    f_value, p_value = _rounded(claim.f_value), _rounded(claim.p_value)
    fitting = _fitting(claim, f_value, p_value, claim.groups)
    if isinstance(fitting, str):
        return Judgement(stated, "not_checkable", None, fitting)
    df1 = claim.groups - 1
    if fitting:
        return Judgement(
            stated, "agrees", None, f"fits {claim.groups} groups (df₁ {df1}) at df₂ {_extent(fitting)}"
        )
    possible = p_range(f_value, df1, float("inf")), p_range(f_value, df1, 1)
    smallest, largest = (bound for bound in (possible[0], possible[1]) if not isinstance(bound, NotJudgeable))
    right = f"p between {smallest.lowest:.3g} and {largest.highest:.3g}, by the number of runs"
    return Judgement(
        stated,
        "disagrees",
        right,
        f"no df₂ up to {claim.most_runs - claim.groups} gives this p with {claim.groups} groups (df₁ {df1})"
        f"{_elsewhere(claim, f_value, p_value)}",
    )


def _elsewhere(claim: FTest, f_value: f_p.Rounded, p_value: f_p.Rounded) -> str:
    """With how many groups the pair would be possible: what was probably computed instead."""
    for groups in _GROUPS_TRIED:
        fitting = _fitting(claim, f_value, p_value, groups)
        if fitting and not isinstance(fitting, str):
            return f"; it fits {groups} groups (df₁ {groups - 1}) at df₂ {_extent(fitting)}"
    return ""


def _fitting(claim: FTest, f_value: f_p.Rounded, p_value: f_p.Rounded, groups: int) -> tuple[int, ...] | str:
    from seedance_ops.stats.f_p import feasible_degrees_of_freedom
    from seedance_ops.stats.outcomes import NotJudgeable

    found = feasible_degrees_of_freedom(f_value, p_value, groups - 1, range(1, claim.most_runs - groups + 1))
    return found.reason if isinstance(found, NotJudgeable) else found


def _extent(fitting: tuple[int, ...]) -> str:
    if len(fitting) == 1:
        return str(fitting[0])
    whole = fitting[-1] - fitting[0] + 1 == len(fitting)
    return f"{fitting[0]} … {fitting[-1]}" if whole else f"{fitting[0]} to {fitting[-1]}, with gaps"


def _rounded(text: str) -> f_p.Rounded:
    from seedance_ops.stats.f_p import Rounded

    printed = Printed.parse(text)
    return Rounded(float(printed.value), float(printed.step / 2))
