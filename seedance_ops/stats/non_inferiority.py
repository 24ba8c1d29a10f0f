"""One-sided tests of a change: against the bound of a gate, or "not worse than a margin"."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from seedance_ops.stats.change import ChangeScale, infer_change
from seedance_ops.stats.comparison import compare
from seedance_ops.stats.equivalence import counted_change, usable_margin
from seedance_ops.stats.outcomes import Design, Interval, Nature, NotJudgeable
from seedance_ops.strict_model import StrictModel

Side = Literal["at_most", "at_least"]


class BoundTest(StrictModel):
    """Whether the true change lies on the demanded side of a bound."""

    judgeable: Literal[True] = True
    design: Design
    side: Side
    bound: float
    """Of the change, in the metric's unit or as a share; see ``change``."""
    alpha: float = Field(gt=0.0, lt=0.5)
    """One-sided."""
    effect: Interval
    """Difference, or ratio − 1, with its 1 − 2α interval (the range, where counted)."""
    p_value: float | None = Field(default=None, ge=0.0, le=1.0)
    """One-sided, of the true change lying on the other side; none where counted."""
    holds: bool
    """Whether the end of the interval that looks at the bound does not pass it: p ≤ α."""


def change_test(
    treatment: pd.Series[float],
    baseline: pd.Series[float],
    *,
    side: Side,
    bound: float,
    scale: ChangeScale,
    pairs_by_seed: bool,
    nature: Nature,
    alpha: float = 0.025,
) -> BoundTest | NotJudgeable:
    """Test that the change is at most, or at least, ``bound``.

    Welch's t or that of paired differences, as in ``compare``; on logs where ``scale`` is relative. The
    default α is that of a gate which looks at one end of a 95 % interval. The p value is what ``holm`` takes
    where several variants or gates are judged together.
    """
    if reason := _unusable_bound(bound, scale):
        return reason
    if nature == "counted":
        counted = counted_change(compare(treatment, baseline, pairs_by_seed=False, nature=nature), scale)
        return counted if isinstance(counted, NotJudgeable) else _counted(counted, side, bound, alpha)
    change = infer_change(treatment, baseline, scale=scale, pairs_by_seed=pairs_by_seed)
    if isinstance(change, NotJudgeable):
        return change
    effect = change.effect(1 - 2 * alpha)
    if isinstance(effect, NotJudgeable):
        return effect
    p_value = change.p_below(bound) if side == "at_most" else change.p_above(bound)
    return BoundTest(
        design=change.design,
        side=side,
        bound=bound,
        alpha=alpha,
        effect=effect,
        p_value=p_value,
        holds=p_value <= alpha,
    )


def non_inferiority(
    treatment: pd.Series[float],
    baseline: pd.Series[float],
    *,
    margin: float,
    better: Literal["lower", "higher"],
    scale: ChangeScale,
    pairs_by_seed: bool,
    nature: Nature,
    alpha: float = 0.05,
) -> BoundTest | NotJudgeable:
    """Test that the treatment is worse by less than ``margin``: one half of a TOST, at its α.

    Args:
        treatment: One value per run, indexed by its seed.
        baseline: The same of the variant compared to.
        margin: What counts as not worse: in the metric's unit, or as a share of the baseline.
        better: Which way the metric improves: ``lower`` allows a rise by the margin, ``higher`` a fall.
        scale: Of the margin. A share of 1 or more demands nothing of a metric that should be high.
        pairs_by_seed: As in ``compare``.
        nature: As in ``compare``.
        alpha: One-sided.
    """
    if reason := usable_margin(margin):
        return reason
    return change_test(
        treatment,
        baseline,
        side="at_most" if better == "lower" else "at_least",
        bound=margin if better == "lower" else -margin,
        scale=scale,
        pairs_by_seed=pairs_by_seed,
        nature=nature,
        alpha=alpha,
    )


def _unusable_bound(bound: float, scale: ChangeScale) -> NotJudgeable | None:
    if not np.isfinite(bound):
        return NotJudgeable(reason=f"the bound is {bound:g}; it must be finite")
    if scale == "relative" and bound <= -1.0:
        return NotJudgeable(reason=f"the bound is {bound:g}; no ratio falls by 100 % or more")
    return None


def _counted(effect: Interval, side: Side, bound: float, alpha: float) -> BoundTest:
    inside = effect.high <= bound if side == "at_most" else effect.low >= bound
    return BoundTest(design="exact", side=side, bound=bound, alpha=alpha, effect=effect, holds=inside)
