"""The level of one metric in one variant: mean, spread and interval over runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from seedance_ops.stats.outcomes import CONFIDENCE, Interval, Nature, NotJudgeable
from seedance_ops.stats.samples import is_constant, sample_of


def level(values: pd.Series[float], *, nature: Nature) -> Interval | NotJudgeable:
    """The mean over runs with Student's 95 % interval; counted metrics: with the range.

    ``NotJudgeable`` as for ``compare``.
    """
    sample = sample_of(values, "the variant")
    if isinstance(sample, NotJudgeable):
        return sample
    mean = float(sample.mean())
    if nature == "counted":
        return Interval(estimate=mean, low=float(sample.min()), high=float(sample.max()))
    if is_constant(sample):
        return NotJudgeable(reason="no value varies between runs, so the measurement's error is unknown")
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample))
    return Interval(estimate=mean, low=mean - float(half), high=mean + float(half))
