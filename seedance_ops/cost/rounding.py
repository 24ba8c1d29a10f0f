"""Round amounts so that they still add up: the method of the largest remainder."""

from __future__ import annotations

import numpy as np
import pandas as pd


def rounded_within(amounts: pd.Series, groups: list[pd.Series], decimals: int = 2) -> pd.Series:
    """Amounts with that many decimals, of which each group sums to the group's rounded total.

    Hamilton's method: every amount is rounded down, and the units that the group's total then lacks go to
    the largest remainders, ties to the earlier row. No amount moves by one unit or more.

    Args:
        amounts: USD, each at least 0.
        groups: Which rows belong together, one series per key.
        decimals: 2 for cents.
    """
    units = amounts * 10.0**decimals
    whole = np.floor(units)
    lacking = (
        units.groupby(groups).transform("sum").round() - whole.groupby(groups).transform("sum")
    ).round()
    rank = (units - whole).groupby(groups).rank(method="first", ascending=False)
    rounded: pd.Series = ((whole + (rank <= lacking)) / 10.0**decimals).round(decimals)
    return rounded
