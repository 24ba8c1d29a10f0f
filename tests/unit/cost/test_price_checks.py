"""Prices that cannot be, and prices that are old, are found."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from seedance_ops.cost.catalogue import PriceCatalogue, PriceEntry, load_prices
from seedance_ops.cost.hardware import load_hardware
from seedance_ops.cost.price_checks import age_findings, price_sanity

CATALOG = Path(__file__).resolve().parents[3] / "include" / "catalog"


@pytest.fixture(scope="module")
def hardware():
    return load_hardware(CATALOG / "hardware.yaml")


@pytest.fixture
def findings(hardware):
    def of(**entries):
        catalogue = {
            key: PriceEntry.model_validate(
                {"source": "a list", "date": "2026-01-02", "basis": "list"} | fields
            )
            for key, fields in entries.items()
        }
        return price_sanity(PriceCatalogue(file=Path("p.yaml"), entries=catalogue), hardware)

    return of


def test_the_shipped_catalogue_is_sane(hardware):
    assert price_sanity(load_prices(CATALOG / "prices.yaml"), hardware) == []


@pytest.mark.parametrize(
    ("usd", "hint"),
    [
        (6.88 / 3600, "per second"),
        (6.88 / 60, "per minute"),
        (6.88 * 730, "per month"),
        (688.0, "in cents"),
        (55.04, "for a node of eight"),
    ],
)
def test_a_mix_up_of_units_is_out_of_the_accelerators_bounds_and_named(usd, hint, findings):
    (found,) = findings(a={"usd_per_accelerator_hour": usd, "accelerator": "h100"})
    assert (found.severity, found.kind) == ("error", "out_of_bounds")
    assert hint in found.message


def test_a_plausible_price_is_no_finding(findings):
    assert findings(a={"usd_per_accelerator_hour": 6.88, "accelerator": "h100"}) == []


def test_a_wrong_number_of_accelerators_is_found(findings):
    (found,) = findings(
        a={
            "usd_per_node_hour": 98.32,
            "accelerators_per_node": 12,
            "accelerator": "h100",
            "instance_type": "Standard_ND96isr_H100_v5",
        }
    )
    assert found.kind == "wrong_count"
    assert "has 8 accelerators, not 12" in found.message


def test_a_sentinel_and_a_default_are_no_prices(findings):
    sentinel, default = findings(a={"usd_per_accelerator_hour": 700.0}, b={"usd_per_accelerator_hour": 0.95})
    assert (sentinel.severity, sentinel.kind) == ("error", "sentinel")
    assert (default.severity, default.kind) == ("warning", "default")


def test_a_spot_price_that_is_the_list_price_is_found(findings):
    node = {"usd_per_node_hour": 55.04, "accelerators_per_node": 8, "instance_type": "p5.48xlarge"}
    (found,) = findings(a=node, b=node | {"basis": "spot"})
    assert (found.key, found.kind) == ("b", "spot_is_list")
    assert findings(a=node, b=node | {"basis": "spot", "usd_per_node_hour": 20.0}) == []


def test_an_accelerator_that_the_hardware_catalogue_lacks_is_found(findings):
    (found,) = findings(a={"usd_per_accelerator_hour": 1.0, "accelerator": "b200"})
    assert (found.severity, found.kind) == ("error", "unknown")


def test_a_price_older_than_the_bound_is_a_warning_and_one_of_the_future_too(price):
    prices = [price(key="old"), price(key="new", date="2026-06-01"), price(key="tomorrow", date="2026-07-02")]
    old, future = age_findings(prices, max_age_days=90, today=date(2026, 7, 1))
    assert (old.severity, old.key, old.kind) == ("warning", "old", "old")
    assert "180 days old" in old.message
    assert (future.key, future.kind) == ("tomorrow", "future")


def test_a_price_just_within_the_bound_is_no_finding(price):
    assert age_findings([price()], max_age_days=10, today=date(2026, 1, 12)) == []
    assert age_findings([price()], max_age_days=9, today=date(2026, 1, 12))
