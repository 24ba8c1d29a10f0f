"""Money a month follows from the interval that the verdict states, and freed hours are not called cash."""

from __future__ import annotations

import pandas as pd
import pytest

from seedance_ops.quality.statistics import MetricComparison, Statistics
from seedance_ops.reporting.economics import savings_of
from seedance_ops.reporting.html import monthly_of
from seedance_ops.stats.outcomes import Comparison, Interval, NotJudgeable
from tests.unit.reporting.conftest import JOB, manifest_of


def statistics(low: float, high: float) -> Statistics:
    change = Interval(estimate=(low + high) / 2, low=low, high=high)
    outcome = Comparison(design="welch", n_treatment=5, n_baseline=5, difference=change, ratio=None)
    rows = [
        MetricComparison(variant=name, metric="usd_per_run", unit="USD", baseline="baseline", outcome=outcome)
        for name in ("bf16", "topk")
    ]
    return Statistics(baseline="baseline", levels=(), comparisons=tuple(rows))


def savings(low: float, high: float, capacity: str = "on_demand", prices: dict[str, float] | None = None):
    job = manifest_of(JOB + f"economics: {{runs_per_month: 10, capacity: {capacity}}}\n").job
    prices = prices or dict.fromkeys(job.variants, 2.0)
    return savings_of(job, statistics(low, high), usd_per_accelerator_hour=prices, study_usd=60.0)[0]


def test_a_saving_on_demand_is_cash_and_pays_back() -> None:
    saving = savings(-3.0, -1.0)
    assert (saving.monthly.estimate, saving.monthly.low, saving.monthly.high) == (20.0, 10.0, 30.0)
    assert saving.payback_months == pytest.approx(3.0)
    assert "saves 20 USD a month" in monthly_of(saving)


def test_an_interval_that_holds_zero_pays_nothing_back() -> None:
    saving = savings(-3.0, 1.0)
    assert saving.payback_months is None
    assert "is not shown" in monthly_of(saving)
    assert "costs 20 USD" in monthly_of(savings(1.0, 3.0))


@pytest.mark.parametrize("capacity", ["committed", "owned"])
def test_where_the_bill_stays_hours_are_freed(capacity: str) -> None:
    saving = savings(-3.0, -1.0, capacity)
    assert (saving.unit, saving.monthly.estimate, saving.payback_months) == ("accelerator hours", 10.0, None)
    assert "no cash is saved" in monthly_of(saving)


def test_hours_of_other_accelerators_are_not_counted_together() -> None:
    prices = {"baseline": 2.0, "bf16": 3.0, "topk": 2.0}
    assert isinstance(savings(-3.0, -1.0, "owned", prices).monthly, NotJudgeable)


def test_without_production_nothing_is_said() -> None:
    job = manifest_of().job
    assert savings_of(job, statistics(-3, -1), usd_per_accelerator_hour={}, study_usd=1.0) == ()


def test_cash_is_that_of_the_whole_bill_where_more_than_accelerators_is_priced() -> None:
    """Accelerators save 1 to 3 USD a run; with storage the variant costs 5 USD more in every run."""
    job = manifest_of(JOB + "economics: {runs_per_month: 10, capacity: on_demand}\n").job
    rows = [
        {"variant": variant, "seed": seed, "total_usd": usd + 0.1 * seed}
        for variant, usd in (("baseline", 10.0), ("bf16", 15.0), ("topk", 10.0))
        for seed in range(5)
    ]
    saving = savings_of(
        job,
        statistics(-3.0, -1.0),
        usd_per_accelerator_hour={},
        study_usd=1.0,
        totals=pd.DataFrame(rows),
    )[0]
    assert saving.monthly.estimate == pytest.approx(-50.0)
    assert saving.payback_months is None
