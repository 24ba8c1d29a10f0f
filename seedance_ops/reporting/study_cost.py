"""What finding out cost: more than the compared runs did."""

from __future__ import annotations

import pandas as pd

from seedance_ops.cost.run_cost import billed
from seedance_ops.reporting.report_model import StudyCost


def study_cost_of(costs: pd.DataFrame, earlier_launches: pd.DataFrame) -> StudyCost:
    """The bill of every launch.

    Args:
        costs: The ledger: the newest take of each training, with all its submissions.
        earlier_launches: The submissions of the takes before it, which somebody cleared. They are priced as
            the newest take is.
    """
    before = billed(earlier_launches)
    price = costs.groupby("variant")["usd_per_accelerator_hour"].first()
    usd = before["accelerator_hours"] * before["variant"].map(price).astype("float64")
    return StudyCost(
        usd=float(costs["usd_per_run"].sum() + usd.sum()),
        accelerator_hours=float(costs["accelerator_hours"].sum() + before["accelerator_hours"].sum()),
        queue_s=float(costs["queue_s"].sum() + before["queue_s"].sum()),
    )
