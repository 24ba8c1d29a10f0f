"""What finding out cost: more than the compared runs did."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from seedance_ops.cost.run_cost import billed
from seedance_ops.jobs.screening import Screening
from seedance_ops.reporting.report_model import StudyCost


def study_cost_of(
    costs: pd.DataFrame,
    earlier_launches: pd.DataFrame,
    *,
    reused: Collection[str] = (),
    screening: Screening | None = None,
    ledger: pd.DataFrame | None = None,
) -> StudyCost:
    """The bill of every launch.

    Args:
        costs: The ledger: the newest take of each training, with all its submissions.
        earlier_launches: The submissions of the takes before it, which somebody cleared. They are priced as
            the newest take is.
        reused: Variants whose runs an earlier study has paid for.
        screening: What the screening cost, where there was one.
        ledger: Rows of ``cost.ledger.ledger_of``: with them storage, requests and whatever else is priced
            counts too; without, accelerators alone.
    """
    costs = costs[~costs["variant"].isin(list(reused))]
    if ledger is None:
        newest_usd = float(costs["usd_per_run"].sum())
    else:
        newest_usd = float(ledger.loc[~ledger["variant"].isin(list(reused)), "cost_usd"].sum())
    before = billed(earlier_launches)
    price = costs.groupby("variant")["usd_per_accelerator_hour"].first()
    usd = before["accelerator_hours"] * before["variant"].map(price).astype("float64")
    hours = costs["accelerator_hours"].sum() + before["accelerator_hours"].sum()
    queue_s = costs["queue_s"].sum() + before["queue_s"].sum()
    return StudyCost(
        usd=newest_usd + float(usd.sum()) + (screening.usd if screening else 0.0),
        accelerator_hours=float(hours) + (screening.accelerator_hours if screening else 0.0),
        queue_s=float(queue_s) + (screening.queue_s if screening else 0.0),
    )
