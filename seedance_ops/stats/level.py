"""The level of one metric in one variant: mean, spread and interval over runs."""

from __future__ import annotations

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
