"""Whether a treatment is as good as a baseline: two one-sided tests within a margin (TOST)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from seedance_ops.stats.comparison import compare, estimate
from seedance_ops.stats.outcomes import Comparison, Design, Interval, Nature, NotJudgeable
from seedance_ops.stats.samples import pairable
from seedance_ops.strict_model import StrictModel

ALPHA = 0.05
NO_RATIO = "a value is zero or negative, so a ratio says nothing"


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
    scale: Literal["absolute", "relative"],
    pairs_by_seed: bool,
    nature: Nature,
) -> Equivalence | NotJudgeable:
    """TOST (Schuirmann 1987) of ``|treatment − baseline| < margin``, or of the ratio within ``1 ± margin``.

    Unequal variances, or paired within seeds under the same conditions as ``compare``. The relative scale
    works on logs, so its limits are ``log(1 − margin)`` and ``log(1 + margin)``.
    """
    if nature == "counted":
        return _counted(compare(treatment, baseline, pairs_by_seed=False, nature=nature), scale)
    samples = pairable(treatment, baseline, pairs_by_seed=pairs_by_seed)
    if isinstance(samples, NotJudgeable):
        return samples
    ours, theirs = samples.treatment, samples.baseline
    low, high = -margin, margin
    if scale == "relative":
        if min(ours.min(), theirs.min()) <= 0.0:
            return NotJudgeable(reason=NO_RATIO)
        ours, theirs = np.log(ours), np.log(theirs)
        low = float(np.log1p(-margin)) if margin < 1.0 else -1e3  # a ratio cannot fall below 0
        high = float(np.log1p(margin))
    fitted = estimate(ours, theirs, paired=samples.paired)
    if isinstance(fitted, NotJudgeable):
        return fitted
    if samples.paired:
        p_value = float(ttost_paired(ours, theirs, low, high)[0])
    else:
        p_value = float(ttost_ind(ours, theirs, low, high, usevar="unequal")[0])
    effect = fitted.interval(1 - 2 * ALPHA)
    if scale == "relative":
        bounds = np.expm1([effect.estimate, effect.low, effect.high])
        if not np.isfinite(bounds).all():
            return NotJudgeable(reason="the ratio's interval is not finite")
        effect = Interval(estimate=float(bounds[0]), low=float(bounds[1]), high=float(bounds[2]))
    return Equivalence(design="paired" if samples.paired else "welch", effect=effect, p_value=p_value)


def _counted(
    outcome: Comparison | NotJudgeable, scale: Literal["absolute", "relative"]
) -> Equivalence | NotJudgeable:
    if isinstance(outcome, NotJudgeable):
        return outcome
    if scale == "absolute":
        return Equivalence(design="exact", effect=outcome.difference)
    if outcome.ratio is None:
        return NotJudgeable(reason=NO_RATIO)
    return Equivalence(design="exact", effect=change_of(outcome.ratio))


def change_of(ratio: Interval) -> Interval:
    """A ratio as a relative change: ratio − 1."""
    return Interval(estimate=ratio.estimate - 1, low=ratio.low - 1, high=ratio.high - 1)
