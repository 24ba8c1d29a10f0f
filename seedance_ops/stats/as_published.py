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

from seedance_ops.stats.samples import Values

Statistic = Callable[..., npt.NDArray[np.float64]]


def sliding_median(values: Values, window: int = 5) -> Values:
    """The median of the window centred on each value; at the ends, of what of the window there is."""
    if window < 1 or window % 2 == 0:
        raise ValueError(f"window is {window}; it must be odd and positive")
    padded = np.pad(np.asarray(values, dtype=np.float64), window // 2, constant_values=np.nan)
    return np.asarray(np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, window), axis=1))


def z_score(values: Values) -> Values:
    """(value − mean) ÷ standard deviation of the population; raises for constant values."""
    spread = float(np.std(values))
    if not spread > 0.0:
        raise ValueError("the values do not vary, so they have no z-score")
    return np.asarray((values - np.mean(values)) / spread)


def bootstrap_interval(
    values: Values,
    *,
    generator: np.random.Generator,
    statistic: Statistic = np.mean,
    resamples: int = 1000,
    alpha: float = 0.05,
) -> tuple[float, float]:
    """The percentile bootstrap interval. ``statistic`` takes an array and ``axis``.

    At n = 5 it covers a normal mean in 84 % of trials, not 95 %.
    """
    drawn = generator.choice(values, size=(resamples, len(values)), replace=True)
    low, high = np.percentile(statistic(drawn, axis=1), [100 * alpha / 2, 100 * (1 - alpha / 2)])
    return float(low), float(high)


@dataclass(frozen=True)
class OneWayAnova:
    """F and its p value, with the degrees of freedom that a reader needs to check them."""

    f_value: float
    p_value: float
    between: int
    within: int


def one_way_anova(*groups: Values) -> OneWayAnova:
    """The classic one-way analysis of variance; assumes equal variances."""
    result = stats.f_oneway(*groups)
    total = sum(len(group) for group in groups)
    return OneWayAnova(float(result.statistic), float(result.pvalue), len(groups) - 1, total - len(groups))
