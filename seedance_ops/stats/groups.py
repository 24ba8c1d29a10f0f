"""Three or more variants at once: Welch's analysis of variance, and every pair by Games and Howell."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import stats

from seedance_ops.stats.change import NO_RATIO, ChangeScale
from seedance_ops.stats.outcomes import CONFIDENCE, Interval, NotJudgeable
from seedance_ops.stats.samples import ROUNDING, Values, is_constant, sample_of
from seedance_ops.strict_model import StrictModel


class WelchAnova(StrictModel):
    """Whether any of several means differs, without assuming equal variances."""

    judgeable: Literal[True] = True
    f_value: float
    between: float
    """Degrees of freedom: groups − 1."""
    within: float
    """Degrees of freedom, estimated."""
    p_value: float = Field(ge=0.0, le=1.0)


class PairTest(StrictModel):
    """One pair of groups: whether they differ."""

    first: str
    second: str
    p_value: float = Field(ge=0.0, le=1.0)
    """Adjusted for all pairs."""


class PairDifference(PairTest):
    """One pair of groups: by how much they differ."""

    effect: Interval
    """First − second, or their ratio − 1, with an interval that holds for all pairs together at 95 %."""


class GamesHowell(StrictModel):
    """Every pair of groups."""

    judgeable: Literal[True] = True
    pairs: tuple[PairDifference, ...]


def welch_anova(
    groups: Mapping[str, pd.Series[float]], *, scale: ChangeScale = "absolute"
) -> WelchAnova | NotJudgeable:
    """Welch's (1951, Biometrika 38) test of equal means; of geometric means on the relative scale.

    The classic F rejects a true null in 32 % of studies under unequal variances and sizes, this in 6 %.
    ``NotJudgeable`` for fewer than two groups, and as ``compare`` for any one of them; also where one does
    not vary, since its weight would be infinite.
    """
    samples = _fit(groups, scale)
    if isinstance(samples, NotJudgeable):
        return samples
    result = stats.f_oneway(*samples.values(), equal_var=False)
    if not np.isfinite([result.statistic, result.pvalue]).all():
        return NotJudgeable(reason="the groups' variances are too far apart for an F to be computed")
    return WelchAnova(
        f_value=float(result.statistic),
        between=float(len(samples) - 1),
        within=_welch_within(list(samples.values())),
        p_value=float(result.pvalue),
    )


def games_howell(
    groups: Mapping[str, pd.Series[float]], *, scale: ChangeScale = "absolute"
) -> GamesHowell | NotJudgeable:
    """Games and Howell (1976, J. Educ. Stat. 1): all pairs, unequal variances, 5 % error over all together.

    ``NotJudgeable`` as for ``welch_anova``.
    """
    samples = _fit(groups, scale)
    if isinstance(samples, NotJudgeable):
        return samples
    result = stats.tukey_hsd(*samples.values(), equal_var=False)
    limits = result.confidence_interval(CONFIDENCE)
    pairs = []
    for (i, first), (j, second) in combinations(enumerate(samples), 2):
        bounds = np.array([result.statistic[i, j], limits.low[i, j], limits.high[i, j]])
        if scale == "relative":
            with np.errstate(over="ignore"):
                bounds = np.expm1(bounds)
        p_value = float(result.pvalue[i, j])
        if not np.isfinite([*bounds, p_value]).all():
            return NotJudgeable(reason=f"{first} and {second} have no finite interval")
        effect = Interval(estimate=float(bounds[0]), low=float(bounds[1]), high=float(bounds[2]))
        pairs.append(
            PairDifference(first=first, second=second, effect=effect, p_value=min(1.0, max(0.0, p_value)))
        )
    return GamesHowell(pairs=tuple(pairs))


def games_howell_p_values(
    groups: Mapping[str, pd.Series[float]], *, scale: ChangeScale = "absolute"
) -> tuple[PairTest, ...] | NotJudgeable:
    """The p values of ``games_howell`` without its intervals, which take twenty times as long.

    With ten groups, half a second instead of nine: an interval is a root of the studentised range's integral.
    """
    samples = _fit(groups, scale)
    if isinstance(samples, NotJudgeable):
        return samples
    p_values = stats.tukey_hsd(*samples.values(), equal_var=False).pvalue
    if not np.isfinite(p_values).all():
        return NotJudgeable(reason="the groups' variances are too far apart for a p value to be computed")
    return tuple(
        PairTest(first=first, second=second, p_value=min(1.0, max(0.0, float(p_values[i, j]))))
        for (i, first), (j, second) in combinations(enumerate(samples), 2)
    )


def _fit(groups: Mapping[str, pd.Series[float]], scale: ChangeScale) -> dict[str, Values] | NotJudgeable:
    if len(groups) < 2:
        return NotJudgeable(reason=f"there are {len(groups)} groups; at least 2 are needed")
    samples = {}
    for name, series in groups.items():
        sample = sample_of(series, name)
        if isinstance(sample, NotJudgeable):
            return sample
        if scale == "relative":
            if sample.min() <= 0.0:
                return NotJudgeable(reason=NO_RATIO)
            sample = np.log(sample)
        if is_constant(sample, rounding=ROUNDING if scale == "relative" else None):
            return NotJudgeable(reason=f"{name} does not vary between runs, so its error is unknown")
        samples[name] = sample
    return samples


def _welch_within(samples: list[Values]) -> float:
    """(k² − 1) ÷ 3Σ((1 − wᵢ/Σw)² ÷ (nᵢ − 1)), w = n ÷ s²; scipy's result does not tell it."""
    weights = np.array([len(sample) / sample.var(ddof=1) for sample in samples])
    freedoms = np.array([len(sample) - 1 for sample in samples])
    spread = float(((1 - weights / weights.sum()) ** 2 / freedoms).sum())
    return (len(samples) ** 2 - 1) / (3 * spread)
