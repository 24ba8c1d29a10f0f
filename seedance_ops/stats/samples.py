"""Runs' values as arrays fit for inference, or the reason why they are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from seedance_ops.stats.outcomes import MINIMUM_RUNS, NotJudgeable

Values = npt.NDArray[np.float64]

_LARGEST, _SMALLEST = 1e60, 1e-60
"""Beyond these the fourth powers in Welch's degrees of freedom overflow or vanish in float64."""
ROUNDING = 1e-12
"""As a share of a value, and so also the same on the scale of logs."""
NO_SPREAD = "no value varies between runs, so the measurement's error is unknown"


@dataclass(frozen=True)
class Pairable:
    """Two samples; in the same order of seeds where ``paired``."""

    treatment: Values
    baseline: Values
    paired: bool


def sample_of(series: pd.Series[float], what: str) -> Values | NotJudgeable:
    """A sample's values, unless there are too few, or one is missing, infinite or out of any scale."""
    values: Values = np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    if len(values) < MINIMUM_RUNS:
        return NotJudgeable(reason=f"{what} has {len(values)} runs; at least {MINIMUM_RUNS} are needed")
    if bad := int((~np.isfinite(values)).sum()):
        return NotJudgeable(reason=f"{what} has no finite value in {bad} of {len(values)} runs")
    if not series.index.is_unique:
        return NotJudgeable(reason=f"{what} has more than one row for the same seed")
    if reason := out_of_scale(values, what):
        return reason
    return values


def out_of_scale(values: Values, what: str) -> NotJudgeable | None:
    """Why finite values cannot be squared and squared again in floating point; ``None`` where they can."""
    sizes = np.abs(values[values != 0.0])
    if len(sizes) and not _SMALLEST <= sizes.min() <= sizes.max() <= _LARGEST:
        return NotJudgeable(reason=f"{what} has a value outside ±[{_SMALLEST:g}, {_LARGEST:g}]")
    return None


def pairable(
    treatment: pd.Series[float], baseline: pd.Series[float], *, pairs_by_seed: bool
) -> Pairable | NotJudgeable:
    """Both samples, paired where the design allows it and the seeds are the same."""
    paired = pairs_by_seed and set(treatment.index) == set(baseline.index)
    if paired:
        treatment, baseline = treatment.sort_index(), baseline.sort_index()
    ours, theirs = sample_of(treatment, "the variant"), sample_of(baseline, "the baseline")
    if isinstance(ours, NotJudgeable):
        return ours
    if isinstance(theirs, NotJudgeable):
        return theirs
    return Pairable(ours, theirs, paired)


def is_constant(values: Values, *, rounding: float | None = None) -> bool:
    """Whether the values differ by no more than rounding: then they say nothing about their spread.

    ``rounding``: what they may differ by, ``ROUNDING`` for logs; default: that share of the largest value.
    """
    return bool(np.ptp(values) <= (rounding_of(values) if rounding is None else rounding))


def rounding_of(values: Values) -> float:
    """What values of this size may differ by and yet be the same."""
    return ROUNDING * max(1e-300, float(np.abs(values).max()))
