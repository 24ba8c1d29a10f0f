"""The noise control of the published evaluation, exactly as it states it (R2.5); no gate uses it.

Smoothing before inference breaks the independence that a test assumes: sliding median, then ANOVA rejects a
true null in 34–47 % of trials instead of 5 %. These are here so that published figures can be recomputed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from seedance_ops.stats.outcomes import Interval, NotJudgeable
from seedance_ops.stats.samples import Values, is_constant, out_of_scale

Statistic = Callable[..., npt.NDArray[np.float64]]
_CONSTANT = "the values do not vary"


def sliding_median(values: Values, window: int = 5) -> Values | NotJudgeable:
    """The median of the window centred on each value; at the ends, of what of the window there is."""
    if window < 1 or window % 2 == 0:
        raise ValueError(f"window is {window}; it must be odd and positive")
    series = _finite(values, fewest=1)
    if isinstance(series, NotJudgeable):
        return series
    padded = np.pad(series, window // 2, constant_values=np.nan)
    return np.asarray(np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, window), axis=1))


def z_score(values: Values) -> Values | NotJudgeable:
    """(value − mean) ÷ standard deviation of the population."""
    series = _finite(values, fewest=2)
    if isinstance(series, NotJudgeable):
        return series
    if is_constant(series):
        return NotJudgeable(reason=f"{_CONSTANT}, so they have no z-score")
    return np.asarray((series - np.mean(series)) / np.std(series))


def bootstrap_interval(
    values: Values,
    *,
    generator: np.random.Generator,
    statistic: Statistic = np.mean,
    resamples: int = 1000,
    alpha: float = 0.05,
) -> Interval | NotJudgeable:
    """The percentile bootstrap interval of ``statistic``, which takes an array and ``axis``.

    At n = 5 it covers a normal mean in 84 % of trials, not 95 %.
    """
    series = _finite(values, fewest=2)
    if isinstance(series, NotJudgeable):
        return series
    if is_constant(series):
        return NotJudgeable(reason=f"{_CONSTANT}, so every resample is the same")
    n = len(series)
    # One resample a column: reductions along the first axis run over whole rows at once, and 16-bit
    # draws cost a quarter of 64-bit ones.
    dtype = np.uint16 if n <= np.iinfo(np.uint16).max else np.int64
    drawn = series.take(generator.integers(n, size=(n, resamples), dtype=dtype).astype(np.intp))
    resampled = statistic(drawn, axis=0)
    return Interval(
        estimate=float(statistic(series, axis=0)),
        low=_percentile(resampled, alpha / 2),
        high=_percentile(resampled, 1 - alpha / 2),
    )


@dataclass(frozen=True)
class OneWayAnova:
    """F and its p value, with the degrees of freedom that a reader needs to check them."""

    f_value: float
    p_value: float
    between: int
    within: int


def one_way_anova(*groups: Values) -> OneWayAnova | NotJudgeable:
    """The classic one-way analysis of variance; assumes equal variances."""
    if len(groups) < 2:
        return NotJudgeable(reason=f"there are {len(groups)} groups; at least 2 are needed")
    samples = []
    for group in groups:
        sample = _finite(group, fewest=2)
        if isinstance(sample, NotJudgeable):
            return sample
        samples.append(sample)
    if all(is_constant(sample) for sample in samples):
        return NotJudgeable(reason="no group varies, so F has no denominator")
    result = stats.f_oneway(*samples)
    if not np.isfinite([result.statistic, result.pvalue]).all():
        return NotJudgeable(reason="the values are too far apart for an F to be computed")
    total = sum(len(sample) for sample in samples)
    return OneWayAnova(float(result.statistic), float(result.pvalue), len(samples) - 1, total - len(samples))


def _percentile(values: Values, share: float) -> float:
    """As ``np.percentile`` interpolates by default, whose general machinery costs more than the draws do."""
    position = share * (len(values) - 1)
    below = int(position)
    above = min(below + 1, len(values) - 1)
    ordered = np.partition(values, (below, above))
    return float(ordered[below] + (position - below) * (ordered[above] - ordered[below]))


def _finite(values: Values, *, fewest: int) -> Values | NotJudgeable:
    series: Values = np.asarray(values, dtype=np.float64)
    if len(series) < fewest:
        return NotJudgeable(reason=f"there are {len(series)} values; at least {fewest} are needed")
    if not np.isfinite(series).all():
        bad = int((~np.isfinite(series)).sum())
        return NotJudgeable(reason=f"{bad} of {len(series)} values are missing or infinite")
    return out_of_scale(series, "the series") or series
