"""Own hardware and rented hardware, both per PFLOPS·hour (R4.2)."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from seedance_ops.cost.errors import BadQuantity
from seedance_ops.cost.owned import (
    owned_beside_rented,
    owned_cost_per_pflops_hour,
    rented_cost_per_pflops_hour,
    report_power_per_pflops_hour,
)
from seedance_ops.cost.ownership import OwnedHardware

SERVER = {
    "purchase_usd": 300_000.0,
    "annual_depreciation_rate": 0.25,
    "effective_hours_per_year": 6000.0,
    "power_w": 10_000.0,
    "pue": 1.25,
    "tariff_usd_per_kwh": 0.12,
    "achieved_pflops": 2.5,
}


def test_depreciation_and_power_by_hand():
    cost = owned_cost_per_pflops_hour(OwnedHardware(**SERVER))
    assert cost.depreciation_usd == pytest.approx(5.0)  # 75,000 USD a year over 6,000 h × 2.5 PFLOPS
    assert cost.power_usd == pytest.approx(0.6)  # 10 kW × 1.25 × 0.12 USD/kWh ÷ 2.5
    assert cost.total_usd == pytest.approx(5.6)


def test_the_reports_difference_in_pue_explains_0_54_and_not_its_0_73():
    def power(pue: float) -> float:
        return owned_cost_per_pflops_hour(OwnedHardware(**SERVER | {"pue": pue})).power_usd

    assert 0.47 * power(1.24) / power(1.08) == pytest.approx(0.54, abs=0.005)


def test_the_rented_price_of_an_h100_at_40_percent():
    # FACTS § 7: p5.48xlarge at 55.04 USD/h, 989 TFLOPS dense bf16, 40 % of it: 0.0174 USD per TFLOPS·h.
    assert rented_cost_per_pflops_hour(55.04 / 8, 0.4 * 989) == pytest.approx(17.4, abs=0.05)


def test_owning_pays_from_the_hours_at_which_both_cost_the_same():
    # Rented at 10.6, power 0.6: 75,000 USD a year ÷ (2.5 PFLOPS × 10 USD) = 3,000 h.
    beside = owned_beside_rented(OwnedHardware(**SERVER), 10.6)
    assert beside.break_even_hours_per_year == pytest.approx(3000.0)
    at_break_even = OwnedHardware(**SERVER | {"effective_hours_per_year": 3000.0})
    assert owned_cost_per_pflops_hour(at_break_even).total_usd == pytest.approx(beside.rented_usd)


@pytest.mark.parametrize("rented", [0.5, 0.6, 1.0])
def test_where_renting_is_cheaper_at_any_hours_there_is_no_break_even(rented):
    assert owned_beside_rented(OwnedHardware(**SERVER), rented).break_even_hours_per_year is None


def test_the_reports_power_term_as_published_is_off_by_1000_over_3600_and_the_pue():
    right = owned_cost_per_pflops_hour(OwnedHardware(**SERVER | {"pue": 1.0})).power_usd
    published = report_power_per_pflops_hour(10_000.0, 1.0, 0.12, 2.5)
    assert published / right == pytest.approx(1000.0 / 3600.0)


@pytest.mark.parametrize("name", list(SERVER))
def test_nothing_has_a_default(name):
    with pytest.raises(ValidationError, match=name):
        OwnedHardware(**{key: value for key, value in SERVER.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("effective_hours_per_year", 0.0),
        ("effective_hours_per_year", -1.0),
        ("effective_hours_per_year", 8785.0),
        ("pue", 0.99),
        ("purchase_usd", math.nan),
        ("achieved_pflops", 0.0),
        ("tariff_usd_per_kwh", 120.0),
    ],
)
def test_what_cannot_be_is_refused(name, value):
    with pytest.raises(ValidationError, match=name):
        OwnedHardware(**SERVER | {name: value})


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_rented_price_needs_a_price_and_a_rate(bad):
    with pytest.raises(BadQuantity, match="usd_per_accelerator_hour"):
        rented_cost_per_pflops_hour(bad, 100.0)
    with pytest.raises(BadQuantity, match="achieved_tflops"):
        rented_cost_per_pflops_hour(1.0, bad)
