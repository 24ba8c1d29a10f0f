"""TCO as published, TCO with units, and whose doing it is (R2.4)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from seedance_ops.cost.attribution import Attributable, attributed, total_usd
from seedance_ops.cost.errors import BadQuantity
from seedance_ops.cost.ratio import UnitCost
from seedance_ops.cost.tco import TcoItem, report_tco_per_1k, tco_over_runs, tco_per_1k_within_slo

USAGE = {"cpu_util": 0.5, "mem_util": 0.5, "network_gb": 1.0}


def test_the_published_formula_by_hand():
    # 3.6 USD/h = 0.001 USD/s; × 100 requests/s × 1000 × (0.30 + 0.15 + 0.10)
    assert report_tco_per_1k(p99_ms=50, req_per_sec=100, instance_cost_h=3.6, **USAGE) == pytest.approx(55.0)
    # Above 100 ms the weight is linear: 250 ms → 2.5
    assert report_tco_per_1k(p99_ms=250, req_per_sec=100, instance_cost_h=3.6, **USAGE) == pytest.approx(
        137.5
    )


def test_the_published_weight_is_one_for_every_product_of_the_report():
    values = {
        report_tco_per_1k(p99_ms=p99, req_per_sec=1, instance_cost_h=3.06, **USAGE)
        for p99 in (42.3, 31.7, 38.9)
    }
    assert len(values) == 1


def test_the_published_formula_is_wrong_by_the_square_of_the_request_rate():
    published = report_tco_per_1k(
        p99_ms=31.7, req_per_sec=12_650, instance_cost_h=3.06, cpu_util=0.3, mem_util=0.3, network_gb=0.24
    )
    right = tco_per_1k_within_slo(
        [TcoItem(name="node", unit_price_usd=3.06, quantity=1.0)], 0.0, 12_650 * 3600.0
    ).total_usd_per_1k
    assert published / right == pytest.approx(12_650**2 * (0.18 + 0.09 + 0.024))
    assert published / right == pytest.approx(4.7e7, rel=0.01)  # FACTS § 7


def test_cost_within_the_objective_by_hand():
    node = TcoItem(name="node", unit_price_usd=3.0, quantity=2.0, idle_share=0.25)  # 6 USD, 1.5 of them idle
    cache = TcoItem(name="cache", unit_price_usd=0.5, quantity=2.0)
    tco = tco_per_1k_within_slo([node, cache], egress_usd=1.0, requests_within_slo=4000.0)
    assert {row.name: row.usd_per_1k for row in tco.rows} == pytest.approx(
        {"node": 1.125, "cache": 0.25, "idle": 0.375, "egress": 0.25}
    )
    assert tco.total_usd_per_1k == pytest.approx(2.0)


@given(
    st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 1)), max_size=5),
    st.floats(0, 1e3),
    st.floats(1, 1e9),
)
def test_the_rows_sum_to_the_total(items, egress, requests):
    paid = [
        TcoItem(name=f"i{n}", unit_price_usd=p, quantity=q, idle_share=s) for n, (p, q, s) in enumerate(items)
    ]
    tco = tco_per_1k_within_slo(paid, egress, requests)
    assert sum(row.usd_per_1k for row in tco.rows) == pytest.approx(tco.total_usd_per_1k, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("requests", [0.0, -1.0, math.nan, math.inf])
def test_without_a_request_in_time_there_is_no_cost_per_request(requests):
    with pytest.raises(BadQuantity, match="requests_within_slo"):
        tco_per_1k_within_slo([], 1.0, requests)


def test_nan_prices_and_negative_hours_are_refused():
    with pytest.raises(ValidationError, match="unit_price_usd"):
        TcoItem(name="n", unit_price_usd=math.nan, quantity=1.0)
    with pytest.raises(ValidationError, match="quantity"):
        TcoItem(name="n", unit_price_usd=1.0, quantity=-1.0)
    with pytest.raises(BadQuantity, match="egress_usd"):
        tco_per_1k_within_slo([], math.nan, 1.0)


def test_over_runs_it_is_the_ratio_of_the_sums():
    found = tco_over_runs(np.array([1.0, 2.0, 3.0]), np.array([1e6, 1e6, 2e6]))
    assert isinstance(found, UnitCost)
    assert found.estimate == pytest.approx(6.0 / 4e6 * 1000)


def test_attribution_by_hand():
    bill = Attributable(
        list_usd=100.0, region_factor=1.2, reserved_discount=0.25, idle_share=0.2, cold_start_share=0.1,
        dependency_share=0.2, cache_miss_share=0.15, serialisation_share=0.05, egress_usd=3.0,
    )  # fmt: skip
    parts = {(part.dimension, part.cause): part.usd for part in attributed(bill)}
    # Billed 100 × 1.2 × 0.75 = 90; idle 18; busy 72, of which half is the application's and the data's.
    assert parts["infrastructure", "idle"] == pytest.approx(18.0)
    assert parts["application", "cold_start"] == pytest.approx(7.2)
    assert parts["application", "dependent_services"] == pytest.approx(14.4)
    assert parts["data", "cache_misses"] == pytest.approx(10.8)
    assert parts["data", "serialisation"] == pytest.approx(3.6)
    assert parts["data", "egress"] == pytest.approx(3.0)
    # The other 36 at list price would be 40 there, 48 here, less 12 by the reservation.
    assert parts["infrastructure", "instance_type"] == pytest.approx(40.0)
    assert parts["infrastructure", "region"] == pytest.approx(8.0)
    assert parts["infrastructure", "reserved_discount"] == pytest.approx(-12.0)
    assert total_usd(bill) == pytest.approx(93.0)


SHARE = st.floats(0.0, 0.25)
BILLS = st.builds(
    Attributable,
    list_usd=st.floats(0, 1e6),
    region_factor=st.floats(0.1, 5),
    reserved_discount=st.floats(0, 0.95),
    idle_share=st.floats(0, 1),
    cold_start_share=SHARE,
    dependency_share=SHARE,
    cache_miss_share=SHARE,
    serialisation_share=SHARE,
    egress_usd=st.floats(0, 1e4),
)


@given(BILLS)
def test_attribution_sums_to_the_total(bill):
    parts = sum(part.usd for part in attributed(bill))
    assert parts == pytest.approx(total_usd(bill), rel=1e-9, abs=1e-9)


def test_a_moment_counts_once():
    with pytest.raises(ValidationError, match=r"sum to 1\.2"):
        Attributable(list_usd=1.0, idle_share=0.0, cold_start_share=0.6, cache_miss_share=0.6)
