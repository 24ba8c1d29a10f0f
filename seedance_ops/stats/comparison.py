"""How a treatment differs from a baseline: ratio and difference over runs, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from seedance_ops.stats.outcomes import CONFIDENCE, Comparison, Interval, Nature, NotJudgeable
from seedance_ops.stats.samples import Pairable, Values, is_constant, pairable

_POWER = 0.8
IDENTICAL = "identical in every run: nothing varies, so a test has nothing to go by"


def compare(
    treatment: pd.Series[float], baseline: pd.Series[float], *, pairs_by_seed: bool, nature: Nature
) -> Comparison | NotJudgeable:
    """Compare two variants on one metric. The unit is the run: one value per run, indexed by its seed.

    *Measured* metrics: the difference of means and the ratio of geometric means (on log values) with 95 %
    Student intervals; within seeds where the design is paired and both have the same seeds, else Welch's
    with Welch–Satterthwaite degrees of freedom (Welch 1947, Biometrika 34). Assumes that runs (or their
    differences, or their logs) are independent and near normal.

    *Counted* metrics are exact: their interval is the range over all pairs of runs, and nothing is inferred.

    ``NotJudgeable`` for fewer than 3 runs, missing or infinite values, and data that do not vary: a constant
    measurement says nothing about its error.
    """
    samples = pairable(treatment, baseline, pairs_by_seed=pairs_by_seed)
    if isinstance(samples, NotJudgeable):
        return samples
    positive = bool((samples.treatment > 0.0).all() and (samples.baseline > 0.0).all())
    return _counted(samples) if nature == "counted" else _measured(samples, positive=positive)


@dataclass(frozen=True)
class Estimate:
    """A mean difference as Student's t sees it."""

    difference: float
    standard_error: float
    degrees_of_freedom: float

    def interval(self, confidence: float) -> Interval:
        """The two-sided confidence interval."""
        half = float(stats.t.ppf((1 + confidence) / 2, self.degrees_of_freedom)) * self.standard_error
        return Interval(estimate=self.difference, low=self.difference - half, high=self.difference + half)


def estimate(treatment: Values, baseline: Values, *, paired: bool) -> Estimate | NotJudgeable:
    """The difference of two means with its standard error: Welch's, or that of the paired differences."""
    if paired:
        differences = treatment - baseline
        scale = np.abs(np.concatenate([treatment, baseline])).max()
        if not differences.any():
            return NotJudgeable(reason=IDENTICAL)
        if np.ptp(differences) <= 1e-12 * scale:
            return NotJudgeable(reason="the paired differences do not vary, so their error is unknown")
        n = len(differences)
        return Estimate(float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(n)), n - 1.0)
    if is_constant(treatment) and is_constant(baseline):
        return NotJudgeable(reason="no value varies between runs, so the measurement's error is unknown")
    ours, theirs = (sample.var(ddof=1) / len(sample) for sample in (treatment, baseline))
    freedom = (ours + theirs) ** 2 / (ours**2 / (len(treatment) - 1) + theirs**2 / (len(baseline) - 1))
    difference = float(treatment.mean() - baseline.mean())
    return Estimate(difference, float(np.sqrt(ours + theirs)), float(freedom))


def _measured(samples: Pairable, *, positive: bool) -> Comparison | NotJudgeable:
    absolute = estimate(samples.treatment, samples.baseline, paired=samples.paired)
    if isinstance(absolute, NotJudgeable):
        return absolute
    ratio = None
    if positive:
        logs = estimate(np.log(samples.treatment), np.log(samples.baseline), paired=samples.paired)
        ratio = None if isinstance(logs, NotJudgeable) else _exponential(logs.interval(CONFIDENCE))
    t_value = absolute.difference / absolute.standard_error
    return Comparison(
        design="paired" if samples.paired else "welch",
        n_treatment=len(samples.treatment),
        n_baseline=len(samples.baseline),
        difference=absolute.interval(CONFIDENCE),
        ratio=ratio,
        p_value=float(2 * stats.t.sf(abs(t_value), absolute.degrees_of_freedom)),
        hedges_g=_hedges_g(samples),
        minimum_detectable_difference=_minimum_detectable(absolute),
    )


def _counted(samples: Pairable) -> Comparison:
    ours, theirs = samples.treatment, samples.baseline
    ratio = None
    if (ours >= 0.0).all() and (theirs > 0.0).all():
        ratio = Interval(
            estimate=float(ours.mean() / theirs.mean()),
            low=float(ours.min() / theirs.max()),
            high=float(ours.max() / theirs.min()),
        )
    return Comparison(
        design="exact",
        n_treatment=len(ours),
        n_baseline=len(theirs),
        difference=Interval(
            estimate=float(ours.mean() - theirs.mean()),
            low=float(ours.min() - theirs.max()),
            high=float(ours.max() - theirs.min()),
        ),
        ratio=ratio,
    )


def _exponential(logs: Interval) -> Interval | None:
    bounds = [float(value) for value in np.exp([logs.estimate, logs.low, logs.high])]
    if not np.isfinite(bounds).all():
        return None
    return Interval(estimate=bounds[0], low=bounds[1], high=bounds[2])


def _hedges_g(samples: Pairable) -> float:
    """Mean difference ÷ root mean variance of the two, times Hedges' (1981) correction."""
    ours, theirs = samples.treatment, samples.baseline
    freedom = len(ours) + len(theirs) - 2
    spread = np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 2)
    if spread == 0.0:
        return 0.0
    return float((ours.mean() - theirs.mean()) / spread * (1 - 3 / (4 * freedom - 1)))


def _minimum_detectable(of: Estimate) -> float:
    quantiles = stats.t.ppf([(1 + CONFIDENCE) / 2, _POWER], of.degrees_of_freedom)
    return float(quantiles.sum() * of.standard_error)
