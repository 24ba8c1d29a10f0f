"""What runs recorded beside their accelerators' time, summed to the quantities that a ledger prices."""

from __future__ import annotations

import pandas as pd

from seedance_ops.cost.ledger_table import USAGE
from seedance_ops.cost.quantities import finite_and_not_negative
from seedance_ops.cost.run_cost import KEYS


def known_usage(usage: pd.DataFrame) -> pd.DataFrame:
    """One row of ``USAGE`` per variant, seed, stage, component and tier, summed over ranks and submissions.

    A component of a run of which some part is unknown (a missing quantity) is left out altogether: the sum of
    the others would be too small and look like all of it.

    Raises ``BadQuantity`` where a quantity is negative or infinite.
    """
    unknown = usage["quantity"].isna()
    parts = [usage[name] for name in (*KEYS, "component")]
    known = usage[~unknown.groupby(parts).transform("any")] if len(usage) else usage
    finite_and_not_negative(known["quantity"], "usage.quantity", known)
    names = [name for name in USAGE if name != "quantity"]
    return known.groupby(names, sort=True)["quantity"].sum().reset_index().astype(USAGE)


def runs_unknown(usage: pd.DataFrame, component: str) -> int:
    """How many runs left a component unknown."""
    rows = usage[(usage["component"] == component) & usage["quantity"].isna()]
    return len(rows[KEYS].drop_duplicates())
