"""Whether a printed F value and a printed p value can belong together, and at which degrees of freedom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import special

from seedance_ops.stats.outcomes import NotJudgeable


@dataclass(frozen=True)
class Rounded:
    """A figure as printed: what was rounded to it lies within half a unit of its last digit."""

    value: float
    half_unit: float

    @property
    def low(self) -> float:
        """The smallest number that is printed so."""
        return self.value - self.half_unit

    @property
    def high(self) -> float:
        """The number from which on it would be printed otherwise."""
        return self.value + self.half_unit


@dataclass(frozen=True)
class PRange:
    """The p values that one printed F value stands for."""

    lowest: float
    highest: float


def p_range(f: Rounded, df1: float, df2: float) -> PRange | NotJudgeable:
    """The p values of F between the printed figure's bounds, at given degrees of freedom.

    ``df2`` may be infinite: then p is that of χ²(df1) ÷ df1, the smallest that any df2 gives for such an F.
    """
    if not (np.isfinite([f.value, f.half_unit]).all() and f.half_unit >= 0.0 and f.value >= 0.0):
        return NotJudgeable(reason=f"{f.value:g} ± {f.half_unit:g} is not an F value")
    if not (np.isfinite(df1) and df1 > 0.0 and df2 > 0.0):
        return NotJudgeable(reason=f"{df1:g} and {df2:g} are not degrees of freedom")
    return PRange(_survival(f.high, df1, df2), _survival(max(0.0, f.low), df1, df2))


def feasible_degrees_of_freedom(
    f: Rounded, p: Rounded, df1: int, df2_range: Iterable[int], tolerance: float = 0.0
) -> tuple[int, ...] | NotJudgeable:
    """Those ``df2`` at which some F that is printed as ``f`` has a p that is printed as ``p``.

    Args:
        f: The printed F value.
        p: The printed p value.
        df1: Degrees of freedom between groups: their number − 1.
        df2_range: Degrees of freedom within groups to try: runs − groups.
        tolerance: Added on both sides of the printed p, beyond its rounding.

    Returns:
        An empty tuple where the pair is impossible; ``NotJudgeable`` for what are no F, p or degrees.
    """
    if not (np.isfinite([p.value, p.half_unit, tolerance]).all() and 0.0 <= p.value <= 1.0):
        return NotJudgeable(reason=f"{p.value:g} is not a p value")
    fitting = []
    for df2 in df2_range:
        found = p_range(f, df1, df2)
        if isinstance(found, NotJudgeable):
            return found
        if found.highest >= p.low - tolerance and found.lowest < p.high + tolerance:
            fitting.append(df2)
    return tuple(fitting)


def _survival(f_value: float, df1: float, df2: float) -> float:
    if np.isinf(df2):
        return float(special.chdtrc(df1, df1 * f_value))
    return float(special.fdtrc(df1, df2, f_value))
