"""Refuse quantities that cannot be: negative, missing or infinite."""

from __future__ import annotations

import numpy as np
import pandas as pd

from seedance_ops.cost.errors import BadQuantity


def finite_and_not_negative(values: pd.Series, name: str, table: pd.DataFrame) -> None:
    """Raise ``BadQuantity``, naming column, value and first run, unless all are finite and at least 0."""
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0.0)))
    if len(bad):
        row = table.iloc[bad[0]]
        where = (
            f" of {row['variant']} seed {row['seed']}" if {"variant", "seed"} <= set(table.columns) else ""
        )
        raise BadQuantity(
            f"{name}{where} is {numbers[bad[0]]}; it must be a number of at least 0 ({len(bad)} such rows)"
        )


def positive(value: float, name: str) -> float:
    """The value; raises ``BadQuantity`` unless it is finite and above zero."""
    if not (np.isfinite(value) and value > 0.0):
        raise BadQuantity(f"{name} is {value}; it must be a finite number above 0")
    return value


def not_negative(value: float, name: str) -> float:
    """The value; raises ``BadQuantity`` unless it is finite and at least zero."""
    if not (np.isfinite(value) and value >= 0.0):
        raise BadQuantity(f"{name} is {value}; it must be a finite number of at least 0")
    return value
