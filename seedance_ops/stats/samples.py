"""Runs' values as arrays fit for inference, or the reason why they are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from seedance_ops.stats.outcomes import MINIMUM_RUNS, NotJudgeable

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pairable:
    """Two samples; in the same order of seeds where ``paired``."""

    treatment: Values
    baseline: Values
    paired: bool


def sample_of(series: pd.Series[float], what: str) -> Values | NotJudgeable:
    """A sample's values, unless there are too few, or one is missing or infinite."""
    values: Values = np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    if len(values) < MINIMUM_RUNS:
        return NotJudgeable(reason=f"{what} has {len(values)} runs; at least {MINIMUM_RUNS} are needed")
    if bad := int((~np.isfinite(values)).sum()):
        return NotJudgeable(reason=f"{what} has no finite value in {bad} of {len(values)} runs")
    if not series.index.is_unique:
        return NotJudgeable(reason=f"{what} has more than one row for the same seed")
    return values


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


def is_constant(values: Values) -> bool:
    """Whether the values differ by no more than rounding: then they say nothing about their spread."""
    return bool(np.ptp(values) <= 1e-12 * max(1e-300, float(np.abs(values).max())))
