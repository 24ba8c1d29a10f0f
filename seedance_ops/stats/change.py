"""How much a metric changes from a baseline, in its unit or as a share, and whether within a bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from seedance_ops.stats.inference import Inference, infer_difference
from seedance_ops.stats.outcomes import Design, Interval, NotJudgeable
from seedance_ops.stats.samples import ROUNDING, Pairable, pairable

ChangeScale = Literal["absolute", "relative"]
NO_RATIO = "a value is zero or negative, so a ratio says nothing"


@dataclass(frozen=True)
class InferredChange:
    """The difference of means (``absolute``), or the ratio of geometric means − 1 (``relative``).

    The relative scale works on logs: there lognormal runs, which cost and time mostly resemble, are normal.
    """

    scale: ChangeScale
    design: Design
    inference: Inference

    def effect(self, confidence: float) -> Interval | NotJudgeable:
        """The change with its two-sided confidence interval."""
        interval = self.inference.interval(confidence)
        if self.scale == "absolute":
            return interval
        with np.errstate(over="ignore"):
            bounds = np.expm1([interval.estimate, interval.low, interval.high])
        if not np.isfinite(bounds).all():
            return NotJudgeable(reason="the ratio's interval is not finite")
        return Interval(estimate=float(bounds[0]), low=float(bounds[1]), high=float(bounds[2]))

    def p_above(self, bound: float) -> float:
        """One-sided p of "the true change is at most ``bound``"."""
        return self.inference.p_above(on_scale(bound, self.scale))

    def p_below(self, bound: float) -> float:
        """One-sided p of "the true change is at least ``bound``"."""
        return self.inference.p_below(on_scale(bound, self.scale))


def infer_change(
    treatment: pd.Series[float], baseline: pd.Series[float], *, scale: ChangeScale, pairs_by_seed: bool
) -> InferredChange | NotJudgeable:
    """Infer the change of one metric. The unit is the run: one value per run, indexed by its seed."""
    samples = pairable(treatment, baseline, pairs_by_seed=pairs_by_seed)
    return samples if isinstance(samples, NotJudgeable) else infer_change_of(samples, scale)


def infer_change_of(samples: Pairable, scale: ChangeScale) -> InferredChange | NotJudgeable:
    """The same, of samples known to be fit for inference."""
    ours, theirs = samples.treatment, samples.baseline
    rounding = None
    if scale == "relative":
        if min(ours.min(), theirs.min()) <= 0.0:
            return NotJudgeable(reason=NO_RATIO)
        ours, theirs, rounding = np.log(ours), np.log(theirs), ROUNDING
    inference = infer_difference(ours, theirs, paired=samples.paired, rounding=rounding)
    if isinstance(inference, NotJudgeable):
        return inference
    return InferredChange(scale, "paired" if samples.paired else "welch", inference)


def on_scale(change: float, scale: ChangeScale) -> float:
    """A change as the inference sees it: itself, or the log of 1 + it; −∞ for a ratio that cannot be."""
    if scale == "absolute":
        return change
    return float(np.log1p(change)) if change > -1.0 else -np.inf


def change_of(ratio: Interval) -> Interval:
    """A ratio as a relative change: ratio − 1."""
    return Interval(estimate=ratio.estimate - 1, low=ratio.low - 1, high=ratio.high - 1)
