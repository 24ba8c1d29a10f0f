"""Whether the F and p that a run's own statistics state can belong together."""

from __future__ import annotations

import numpy as np
from scipy import special

from seedance_ops.quality.data.fact import DataFact
from seedance_ops.quality.statistics import Statistics
from seedance_ops.stats.f_p import PRange, Rounded, p_range
from seedance_ops.stats.outcomes import CONFIDENCE, Comparison

CHECK = "f_p_consistent"
_ROUNDING = 1e-6
"""Relative: floating point, and nothing is printed in between."""


def f_p_consistent(variant: str, statistics: Statistics) -> DataFact | None:
    """Each comparison's p against the F of its interval; ``None`` where none states a p.

    For two groups F = t², with one degree of freedom between them. t follows from a difference and its 95 %
    interval. The degrees of freedom within are n − 1 of pairs, and for Welch's test at least those of the
    smaller group, at most those of both.
    """
    stated = [
        (row.metric, row.outcome)
        for row in statistics.comparisons
        if row.variant == variant and isinstance(row.outcome, Comparison) and row.outcome.p_value is not None
    ]
    if not stated:
        return None
    violations = [sentence for metric, of in stated if (sentence := _disagreement(metric, of))]
    return DataFact.of(CHECK, variant, len(stated), violations)


def _disagreement(metric: str, of: Comparison) -> str | None:
    assert of.p_value is not None
    ranges = [_p_at(of, freedom) for freedom in _degrees_of_freedom(of)]
    lowest, highest = min(r.lowest for r in ranges), max(r.highest for r in ranges)
    slack = _ROUNDING * of.p_value + 1e-12
    if lowest - slack <= of.p_value <= highest + slack:
        return None
    return f"{metric}: p = {of.p_value:g}, but its interval stands for {lowest:.3g} … {highest:.3g}"


def _degrees_of_freedom(of: Comparison) -> tuple[float, ...]:
    if of.design == "paired":
        return (of.n_treatment - 1.0,)
    fewest = min(of.n_treatment, of.n_baseline) - 1
    return tuple(float(df) for df in range(fewest, of.n_treatment + of.n_baseline - 1))


def _p_at(of: Comparison, freedom: float) -> PRange:
    half = (of.difference.high - of.difference.low) / 2
    if not half > 0.0:
        return PRange(np.nan, np.nan)  # which no p lies within
    t_value = of.difference.estimate / half * float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))
    found = p_range(Rounded(t_value**2, _ROUNDING * t_value**2), 1, freedom)
    return found if isinstance(found, PRange) else PRange(np.nan, np.nan)
