"""A mean, or a difference of means, with its error: by Student's t, and what a level of skewed runs adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from seedance_ops.stats.bootstrap_t import Roots, is_skewed, roots_of_one, roots_of_two
from seedance_ops.stats.lognormal_mean import LognormalMean, lognormal_mean
from seedance_ops.stats.outcomes import Interval, NotJudgeable
from seedance_ops.stats.samples import NO_SPREAD, Values, is_constant, rounding_of

IDENTICAL = "identical in every run: nothing varies, so a test has nothing to go by"


@dataclass(frozen=True)
class Inference:
    """A mean or mean difference, its standard error and, for the level of skewed runs, what else bounds it.

    With ``roots``, an interval is the hull of Student's and the bootstrap-t's, and a p value the larger of
    the two; ``lognormal`` does the same to the upper end. So the choice, which looks at the data, can widen
    an interval but never narrow it.
    """

    difference: float
    standard_error: float
    degrees_of_freedom: float
    roots: Roots | None = None
    lognormal: LognormalMean | None = None

    def interval(self, confidence: float) -> Interval:
        """The two-sided confidence interval."""
        half = float(special.stdtrit(self.degrees_of_freedom, (1 + confidence) / 2)) * self.standard_error
        low, high = self.difference - half, self.difference + half
        if self.roots is not None:
            lowest, highest = self.roots.quantiles(confidence)
            if np.isfinite([lowest, highest]).all():
                low = min(low, self.difference - highest * self.standard_error)
                high = max(high, self.difference - lowest * self.standard_error)
        if self.lognormal is not None:
            # Of values that span dozens of decades there is no finite bound: then the largest there is.
            high = max(high, min(self.lognormal.upper(confidence), float(np.finfo(float).max)))
        return Interval(estimate=self.difference, low=low, high=high)

    def p_above(self, bound: float) -> float:
        """One-sided p of "the true difference is at most ``bound``": small where it is above."""
        t_value = (self.difference - bound) / self.standard_error
        p_value = float(special.stdtr(self.degrees_of_freedom, -t_value))
        return p_value if self.roots is None else max(p_value, self.roots.p_at_least(t_value))

    def p_below(self, bound: float) -> float:
        """One-sided p of "the true difference is at least ``bound``": small where it is below."""
        t_value = (self.difference - bound) / self.standard_error
        p_value = float(special.stdtr(self.degrees_of_freedom, t_value))
        if self.roots is not None:
            p_value = max(p_value, self.roots.p_at_most(t_value))
        return p_value if self.lognormal is None else max(p_value, self.lognormal.p_below(bound))

    def p_other_than(self, value: float) -> float:
        """Two-sided p of "the true difference is ``value``"."""
        return min(1.0, 2 * min(self.p_above(value), self.p_below(value)))


def infer_mean(values: Values) -> Inference | NotJudgeable:
    """The mean of one sample, with ``roots`` where it is skewed and ``lognormal`` where it spreads widely."""
    if is_constant(values):
        return NotJudgeable(reason=NO_SPREAD)
    n = len(values)
    roots = roots_of_one(np.sort(values)) if is_skewed(values) else None
    error = float(values.std(ddof=1) / np.sqrt(n))
    return Inference(float(values.mean()), error, n - 1.0, roots, lognormal_mean(values))


def infer_difference(
    treatment: Values, baseline: Values, *, paired: bool, rounding: float | None = None
) -> Inference | NotJudgeable:
    """The difference of two means: Welch's, or that of the paired differences.

    Welch–Satterthwaite degrees of freedom (Welch 1947, Biometrika 34). ``rounding`` as in ``is_constant``.
    """
    if paired:
        largest = np.concatenate([treatment, baseline])
        return _paired(treatment - baseline, rounding_of(largest) if rounding is None else rounding)
    if is_constant(treatment, rounding=rounding) and is_constant(baseline, rounding=rounding):
        return NotJudgeable(reason=NO_SPREAD)
    ours, theirs = (float(sample.var(ddof=1)) / len(sample) for sample in (treatment, baseline))
    freedom = (ours + theirs) ** 2 / (ours**2 / (len(treatment) - 1) + theirs**2 / (len(baseline) - 1))
    return Inference(float(treatment.mean() - baseline.mean()), float(np.sqrt(ours + theirs)), freedom)


def resampled_difference(
    treatment: Values, baseline: Values, *, paired: bool, confidence: float
) -> Interval | None:
    """The bootstrap-t interval of the difference where the runs (or differences) are skewed, else ``None``.

    Not the hull, and nothing is judged by it: the skews of two variants cancel, so that Welch's interval
    covers at least as often (``docs/statistics.md``).
    """
    inference = infer_difference(treatment, baseline, paired=paired)
    if isinstance(inference, NotJudgeable):
        return None
    differences = treatment - baseline if paired else None
    judged_for_skew = (treatment, baseline) if differences is None else (differences,)
    if not any(is_skewed(sample) for sample in judged_for_skew):
        return None
    roots = roots_of_two(treatment, baseline) if differences is None else roots_of_one(differences)
    if roots is None:
        return None
    low, high = roots.quantiles(confidence)
    difference, error = inference.difference, inference.standard_error
    return Interval(estimate=difference, low=difference - high * error, high=difference - low * error)


def _paired(differences: Values, rounding: float) -> Inference | NotJudgeable:
    if not differences.any():
        return NotJudgeable(reason=IDENTICAL)
    if is_constant(differences, rounding=rounding):
        return NotJudgeable(reason="the paired differences do not vary, so their error is unknown")
    n = len(differences)
    return Inference(float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(n)), n - 1.0)
