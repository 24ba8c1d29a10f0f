"""What a verdict is worth: money or accelerator hours a month, and how soon the study has paid for itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pandas as pd

from seedance_ops.jobs.economy import Economics
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.statistics import Statistics, values_by_seed
from seedance_ops.stats.comparison import compare
from seedance_ops.stats.outcomes import Interval, NotJudgeable
from seedance_ops.strict_model import StrictModel

SAVING_METRIC = "usd_per_run"


class MonthlySaving(StrictModel):
    """One variant in production, against the baseline."""

    variant: str
    capacity: Literal["on_demand", "committed", "owned"]
    unit: Literal["USD", "accelerator hours"]
    """USD on demand; where the bill stays, what is freed."""
    runs_per_month: float
    monthly: Interval | NotJudgeable
    """Net saving a month at 95 %; negative where the variant costs more."""
    study_usd: float
    payback_months: float | None
    """Study ÷ saving; none unless the whole interval is a saving, or where no cash is saved."""


def savings_of(
    job: TrainingJob,
    statistics: Statistics,
    *,
    usd_per_accelerator_hour: Mapping[str, float],
    study_usd: float,
    totals: pd.DataFrame | None = None,
) -> tuple[MonthlySaving, ...]:
    """The monthly saving of every variant but the baseline; empty where the job states no production.

    Args:
        job: Its economics.
        statistics: What ``summarise`` made of the runs.
        usd_per_accelerator_hour: By variant.
        study_usd: What finding out cost.
        totals: ``variant``, ``seed`` and ``total_usd`` of every completed run: everything that is
            priced. Without it money is that of the accelerators alone; freed hours always are.
    """
    if job.economics is None:
        return ()
    return tuple(
        _saving(
            variant,
            job.economics,
            _monthly_usd(variant, job.economics, statistics, totals),
            study_usd,
            rented=(usd_per_accelerator_hour.get(variant), usd_per_accelerator_hour.get(job.baseline)),
        )
        for variant in job.variants
        if variant != statistics.baseline
    )


def _saving(
    variant: str,
    economics: Economics,
    monthly: Interval | NotJudgeable,
    study_usd: float,
    *,
    rented: tuple[float | None, float | None],
) -> MonthlySaving:
    """``rented``: USD per accelerator hour of the variant and of the baseline."""
    cash = economics.capacity == "on_demand"
    if not cash and isinstance(monthly, Interval):
        monthly = _freed_hours(monthly, *rented)
    saves = cash and isinstance(monthly, Interval) and monthly.low > 0.0
    return MonthlySaving(
        variant=variant,
        capacity=economics.capacity,
        unit="USD" if cash else "accelerator hours",
        runs_per_month=economics.runs_per_month,
        monthly=monthly,
        study_usd=study_usd,
        payback_months=study_usd / monthly.estimate if saves and isinstance(monthly, Interval) else None,
    )


def _monthly_usd(
    variant: str, economics: Economics, statistics: Statistics, totals: pd.DataFrame | None
) -> Interval | NotJudgeable:
    row = statistics.comparison(variant, SAVING_METRIC)
    if row is None:
        return NotJudgeable(reason=f"{SAVING_METRIC} was not measured")
    outcome = row.outcome
    if totals is not None and economics.capacity == "on_demand":
        ours, theirs = (values_by_seed(totals, name, "total_usd") for name in (variant, statistics.baseline))
        outcome = compare(ours, theirs, pairs_by_seed=False, nature="measured")
    if isinstance(outcome, NotJudgeable):
        return outcome
    times, change = economics.runs_per_month, outcome.difference
    return Interval(estimate=-times * change.estimate, low=-times * change.high, high=-times * change.low)


def _freed_hours(usd: Interval, price: float | None, of_baseline: float | None) -> Interval | NotJudgeable:
    if price is None or price != of_baseline:
        return NotJudgeable(
            reason="the variant runs on other accelerators, whose hours are not the baseline's"
        )
    return Interval(estimate=usd.estimate / price, low=usd.low / price, high=usd.high / price)
