"""How a treatment differs from a baseline: ratio and difference over runs, each with its interval."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from seedance_ops.stats.change import InferredChange, infer_change_of
from seedance_ops.stats.inference import Inference, resampled_difference
from seedance_ops.stats.outcomes import CONFIDENCE, Comparison, Interval, Nature, NotJudgeable
from seedance_ops.stats.samples import Pairable, pairable

_POWER = 0.8


def compare(
    treatment: pd.Series[float], baseline: pd.Series[float], *, pairs_by_seed: bool, nature: Nature
) -> Comparison | NotJudgeable:
    """Compare two variants on one metric. The unit is the run: one value per run, indexed by its seed.

    *Measured* metrics: the difference of means and the ratio of geometric means (on log values) with 95 %
    Student intervals; within seeds where the design is paired and both have the same seeds, else Welch's
    with Welch–Satterthwaite degrees of freedom. Assumes that runs (or their differences, or their logs) are
    independent and near normal; where they are skewed (``bootstrap_t.is_skewed``) the bootstrap-t interval of
    the difference stands beside.

    *Counted* metrics are exact: their interval is the range over all pairs of runs, and nothing is inferred.

    ``NotJudgeable`` for fewer than 3 runs, missing or infinite values, and data that do not vary: a constant
    measurement says nothing about its error.
    """
    samples = pairable(treatment, baseline, pairs_by_seed=pairs_by_seed)
    if isinstance(samples, NotJudgeable):
        return samples
    return _counted(samples) if nature == "counted" else _measured(samples)


def _measured(samples: Pairable) -> Comparison | NotJudgeable:
    absolute = infer_change_of(samples, "absolute")
    if isinstance(absolute, NotJudgeable):
        return absolute
    relative = infer_change_of(samples, "relative")
    ratio = smallest_change = None
    if isinstance(relative, InferredChange):
        ratio = _exponential(relative.inference.interval(CONFIDENCE))
        smallest_change = _as_share(_minimum_detectable(relative.inference))
    return Comparison(
        design=absolute.design,
        n_treatment=len(samples.treatment),
        n_baseline=len(samples.baseline),
        difference=absolute.inference.interval(CONFIDENCE),
        ratio=ratio,
        p_value=absolute.inference.p_other_than(0.0),
        hedges_g=_hedges_g(samples),
        minimum_detectable_difference=_minimum_detectable(absolute.inference),
        minimum_detectable_change=smallest_change,
        difference_bootstrap_t=resampled_difference(
            samples.treatment, samples.baseline, paired=samples.paired, confidence=CONFIDENCE
        ),
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
    with np.errstate(over="ignore"):
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


def _minimum_detectable(of: Inference) -> float:
    quantiles = stats.t.ppf([(1 + CONFIDENCE) / 2, _POWER], of.degrees_of_freedom)
    return float(quantiles.sum() * of.standard_error)


def _as_share(logs: float) -> float | None:
    with np.errstate(over="ignore"):
        share = float(np.expm1(logs))
    return share if np.isfinite(share) else None
