"""Findings about prices: implausible for what they buy, or too old to rely on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date as Date  # noqa: N812
from typing import Literal

from seedance_ops.cost.catalogue import Price, PriceCatalogue, PriceEntry
from seedance_ops.cost.hardware import HardwareCatalogue, UsdPerHourBounds
from seedance_ops.cost.price_traps import (
    OPENCOST_DEFAULT_GPU_USD_PER_HOUR,
    accelerators_of_instance,
    is_sentinel,
)

HOURS_PER_MONTH = 730.0
Severity = Literal["warning", "error"]
_MIX_UPS = (
    (3600.0, "per second"),
    (60.0, "per minute"),
    (1.0 / 8.0, "for a node of eight"),
    (0.01, "in cents"),
    (1.0 / HOURS_PER_MONTH, "per month"),
    (1.0 / 8760.0, "per year"),
)
"""Factor by which a figure in another unit becomes USD an hour, the smaller mistakes first."""


@dataclass(frozen=True)
class PriceFinding:
    """Something about a price that a reader must know before relying on it."""

    severity: Severity
    key: str
    kind: Literal[
        "out_of_bounds", "sentinel", "default", "wrong_count", "spot_is_list", "unknown", "old", "future"
    ]
    message: str


def price_sanity(catalogue: PriceCatalogue, hardware: HardwareCatalogue) -> list[PriceFinding]:
    """What is implausible about a catalogue's prices, in the order of its entries.

    Bounds per accelerator catch a mix-up of units (per hour against per second, minute or month) and of a
    node's price with one accelerator's; the message names the unit in which the figure would be plausible.
    """
    return [
        finding
        for key, entry in catalogue.entries.items()
        for finding in _findings(key, entry, catalogue, hardware)
    ]


def age_findings(prices: Iterable[Price], max_age_days: int, today: Date) -> list[PriceFinding]:
    """A warning for each price older than the bound, or dated in the future.

    A price that is missing is no finding: ``PriceCatalogue.price`` raises ``PriceMissing``.
    """
    found: list[PriceFinding] = []
    for price in prices:
        age = (today - price.date).days
        if age > max_age_days:
            message = (
                f"{price.key} is of {price.date}, {age} days old; the job allows {max_age_days}: "
                "look the price up again, and correct its date"
            )
            found.append(PriceFinding("warning", price.key, "old", message))
        elif age < 0:
            message = f"{price.key} is of {price.date}, which is in the future"
            found.append(PriceFinding("warning", price.key, "future", message))
    return found


def bounds_hint(usd_per_hour: float, bounds: UsdPerHourBounds) -> str | None:
    """Why a price is out of bounds, in words; none where it is within."""
    if bounds.low <= usd_per_hour <= bounds.high:
        return None
    hint = next(
        (unit for factor, unit in _MIX_UPS if bounds.low <= usd_per_hour * factor <= bounds.high), None
    )
    guess = f"; it would be plausible {hint}" if hint else ""
    return f"{usd_per_hour:g} USD an hour is outside {bounds.low:g} … {bounds.high:g}{guess}"


def _findings(
    key: str, entry: PriceEntry, catalogue: PriceCatalogue, hardware: HardwareCatalogue
) -> Iterable[PriceFinding]:
    usd = catalogue.price(key, variant="-").usd_per_accelerator_hour
    yield from _bounds(key, usd, entry, hardware)
    if any(is_sentinel(figure) for figure in (entry.usd_per_accelerator_hour, entry.usd_per_node_hour)):
        yield PriceFinding("error", key, "sentinel", f"{key}: a list's placeholder for no price, not a price")
    if entry.usd_per_accelerator_hour == OPENCOST_DEFAULT_GPU_USD_PER_HOUR:
        yield PriceFinding(
            "warning",
            key,
            "default",
            f"{key}: 0.95 USD an hour is OpenCost's default for any GPU, seldom a price",
        )
    true_count = accelerators_of_instance(entry.instance_type)
    if true_count and entry.accelerators_per_node and entry.accelerators_per_node != true_count:
        yield PriceFinding(
            "error",
            key,
            "wrong_count",
            f"{key}: {entry.instance_type} has {true_count} accelerators, not {entry.accelerators_per_node}",
        )
    yield from _spot(key, usd, entry, catalogue)


def _bounds(key: str, usd: float, entry: PriceEntry, hardware: HardwareCatalogue) -> Iterable[PriceFinding]:
    if entry.accelerator is None:
        return
    if entry.accelerator not in hardware.entries:
        known = ", ".join(sorted(hardware.entries))
        yield PriceFinding(
            "error", key, "unknown", f"{key}: accelerator {entry.accelerator!r}; known: {known}"
        )
        return
    hint = bounds_hint(usd, hardware.entries[entry.accelerator].plausible_usd_per_hour)
    if hint:
        yield PriceFinding("error", key, "out_of_bounds", f"{key} ({entry.accelerator}): {hint}")


def _spot(key: str, usd: float, entry: PriceEntry, catalogue: PriceCatalogue) -> Iterable[PriceFinding]:
    if entry.basis != "spot" or entry.instance_type is None:
        return
    for other, listed in catalogue.entries.items():
        same = (listed.instance_type, listed.region) == (entry.instance_type, entry.region)
        if (
            listed.basis == "list"
            and same
            and usd >= catalogue.price(other, variant="-").usd_per_accelerator_hour
        ):
            yield PriceFinding(
                "warning", key, "spot_is_list", f"{key}: a spot price not below the list price {other}"
            )
