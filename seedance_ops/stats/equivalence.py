"""Whether a treatment is as good as a baseline: two one-sided tests within a margin (TOST)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from seedance_ops.stats.change import NO_RATIO, ChangeScale, change_of, infer_change
from seedance_ops.stats.comparison import compare
from seedance_ops.stats.outcomes import Comparison, Design, Interval, Nature, NotJudgeable
from seedance_ops.strict_model import StrictModel

__all__ = ["ALPHA", "NO_RATIO", "Equivalence", "change_of", "counted_change", "equivalence", "usable_margin"]

ALPHA = 0.05


class Equivalence(StrictModel):
    """The result of a TOST; equivalent at α 0.05 where the 90 % interval lies inside the margin."""

    judgeable: Literal[True] = True
    design: Design
    effect: Interval
    """Difference, or ratio − 1, with its 90 % interval (the range, where counted)."""
    p_value: float | None = Field(default=None, ge=0.0, le=1.0)
    """The larger of the two one-sided p values; none where counted."""


def equivalence(
    treatment: pd.Series[float],
    baseline: pd.Series[float],
    *,
    margin: float,
    scale: ChangeScale,
    pairs_by_seed: bool,
    nature: Nature,
) -> Equivalence | NotJudgeable:
    """TOST (Schuirmann 1987) of ``|treatment − baseline| < margin``, or of the ratio within ``1 ± margin``.

    Unequal variances, or paired within seeds under the same conditions as ``compare``. The relative scale
    works on logs, so its limits are ``log(1 − margin)`` and ``log(1 + margin)``.
    """
    if reason := usable_margin(margin):
        return reason
    if nature == "counted":
        return _counted(compare(treatment, baseline, pairs_by_seed=False, nature=nature), scale)
    change = infer_change(treatment, baseline, scale=scale, pairs_by_seed=pairs_by_seed)
    if isinstance(change, NotJudgeable):
        return change
    effect = change.effect(1 - 2 * ALPHA)
    if isinstance(effect, NotJudgeable):
        return effect
    p_value = max(change.p_above(-margin), change.p_below(margin))
    return Equivalence(design=change.design, effect=effect, p_value=p_value)


def usable_margin(margin: float) -> NotJudgeable | None:
    """Why nothing can be tested against this margin; ``None`` where it can."""
    if np.isfinite(margin) and margin > 0.0:
        return None
    return NotJudgeable(reason=f"the margin is {margin:g}; it must be positive and finite")


def counted_change(outcome: Comparison | NotJudgeable, scale: ChangeScale) -> Interval | NotJudgeable:
    """The range of an exact metric's change on the scale asked for."""
    if isinstance(outcome, NotJudgeable):
        return outcome
    if scale == "absolute":
        return outcome.difference
    return NotJudgeable(reason=NO_RATIO) if outcome.ratio is None else change_of(outcome.ratio)


def _counted(outcome: Comparison | NotJudgeable, scale: ChangeScale) -> Equivalence | NotJudgeable:
    effect = counted_change(outcome, scale)
    return effect if isinstance(effect, NotJudgeable) else Equivalence(design="exact", effect=effect)
