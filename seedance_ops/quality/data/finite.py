"""Whether the numbers of the step records are numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from seedance_ops.quality.data.fact import DataFact
from seedance_ops.quality.data.step_columns import SOMETIMES_MEASURED

CHECK = "finite"


def finite(variant: str, steps: pd.DataFrame, *, columns: Sequence[str]) -> DataFact:
    """No NaN and no infinity in these columns of one variant's step records.

    A column that may be empty counts as measured where any row has a value, and then all must; one that every
    step has must be there.
    """
    checked, violations, example = 0, 0, None
    for column in columns:
        values = _values(steps, column)
        if column in SOMETIMES_MEASURED and np.isnan(values).all():
            continue
        broken = np.flatnonzero(~np.isfinite(values))
        checked += len(values)
        violations += len(broken)
        if len(broken) and example is None:
            row = steps.iloc[broken[0]]
            place = f"seed {row['seed']} rank {row['rank']} step {row['step']}"
            example = f"{column} is {_shown(values[broken[0]])} at {place}"
    return DataFact(CHECK, variant, checked, violations, example)


def _values(steps: pd.DataFrame, column: str) -> npt.NDArray[np.float64]:
    if column not in steps.columns:
        return np.full(len(steps), np.nan)
    return steps[column].to_numpy(dtype=np.float64, na_value=np.nan)


def _shown(value: float) -> str:
    return "missing or NaN" if np.isnan(value) else f"{value:g}"
