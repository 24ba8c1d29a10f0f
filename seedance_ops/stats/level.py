"""The level of one metric in one variant: mean, spread and interval over runs."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from seedance_ops.stats.inference import infer_mean
from seedance_ops.stats.outcomes import CONFIDENCE, Interval, Nature, NotJudgeable
from seedance_ops.stats.samples import sample_of


def level(values: pd.Series[float], *, nature: Nature) -> Interval | NotJudgeable:
    """The mean over runs with its 95 % interval; counted metrics: with the range.

    Student's interval, or the hull of it and the bootstrap-t's where the runs are skewed (``is_skewed``).
    ``NotJudgeable`` as for ``compare``.
    """
    sample = sample_of(values, "the variant")
    if isinstance(sample, NotJudgeable):
        return sample
    if nature == "counted":
        return Interval(estimate=float(sample.mean()), low=float(sample.min()), high=float(sample.max()))
    inference = infer_mean(sample)
    return inference if isinstance(inference, NotJudgeable) else inference.interval(CONFIDENCE)


def level_p_value(
    values: pd.Series[float], *, side: Literal["at_most", "at_least"], bound: float
) -> float | NotJudgeable:
    """One-sided p of "the true mean lies beyond ``bound``", of a measured metric, for ``holm``.

    At most 0.025 where that end of ``level``'s interval does not pass the bound. A counted metric has no p.
    """
    if not np.isfinite(bound):
        return NotJudgeable(reason=f"the bound is {bound:g}; it must be finite")
    sample = sample_of(values, "the variant")
    if isinstance(sample, NotJudgeable):
        return sample
    inference = infer_mean(sample)
    if isinstance(inference, NotJudgeable):
        return inference
    return inference.p_below(bound) if side == "at_most" else inference.p_above(bound)
