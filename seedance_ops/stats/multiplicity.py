"""Several tests that are judged together: Holm for gates, Benjamini–Hochberg for dashboards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field
from statsmodels.stats.multitest import multipletests

from seedance_ops.stats.outcomes import NotJudgeable
from seedance_ops.strict_model import StrictModel


class Adjusted(StrictModel):
    """One test of a family."""

    judgeable: Literal[True] = True
    p_value: float = Field(ge=0.0, le=1.0)
    adjusted_p_value: float = Field(ge=0.0, le=1.0)
    """To be held against α itself."""
    rejected: bool
    """Whether its null hypothesis is: for a gate, whether the demanded bound is shown to hold."""


def holm(
    p_values: Mapping[str, float | NotJudgeable], *, alpha: float = 0.05
) -> dict[str, Adjusted | NotJudgeable]:
    """Holm (1979, Scand. J. Stat. 6): at most α that *any* true null of the family is rejected.

    Takes the p values by name (of a gate, a variant). One that could not be judged stays so and counts in
    the family as p = 1: a variant that broke must not make it easier for the others.
    """
    return _adjusted(p_values, "holm", alpha)


def benjamini_hochberg(
    p_values: Mapping[str, float | NotJudgeable], *, alpha: float = 0.05
) -> dict[str, Adjusted | NotJudgeable]:
    """Benjamini and Hochberg (1995, JRSS B 57): at most α of the rejected ones are true nulls, on average.

    For screens of many metrics that a person looks into; no gate uses it. Otherwise as ``holm``.
    """
    return _adjusted(p_values, "fdr_bh", alpha)


def _adjusted(
    p_values: Mapping[str, float | NotJudgeable], method: Literal["holm", "fdr_bh"], alpha: float
) -> dict[str, Adjusted | NotJudgeable]:
    if not p_values:
        return {}
    checked = {name: _checked(p_value) for name, p_value in p_values.items()}
    as_given = [1.0 if isinstance(p_value, NotJudgeable) else p_value for p_value in checked.values()]
    rejected, adjusted, _, _ = multipletests(as_given, alpha=alpha, method=method)
    return {
        name: p_value
        if isinstance(p_value, NotJudgeable)
        else Adjusted(p_value=p_value, adjusted_p_value=min(1.0, float(after)), rejected=bool(verdict))
        for (name, p_value), verdict, after in zip(checked.items(), rejected, adjusted, strict=True)
    }


def _checked(p_value: float | NotJudgeable) -> float | NotJudgeable:
    if isinstance(p_value, NotJudgeable):
        return p_value
    if 0.0 <= p_value <= 1.0:
        return float(p_value)
    return NotJudgeable(reason=f"{p_value:g} is not a p value")
