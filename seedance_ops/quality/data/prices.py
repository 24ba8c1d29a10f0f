"""Whether the price that a variant was billed by can be one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydantic import ValidationError

from seedance_ops.cost.catalogue import Price, PriceCatalogue, PriceEntry
from seedance_ops.cost.hardware import HardwareCatalogue
from seedance_ops.cost.price_checks import price_sanity
from seedance_ops.quality.data.fact import DataFact

CHECK = "price_sane"


def price_sane(variant: str, price: Price | None, *, hardware: HardwareCatalogue | None) -> DataFact:
    """The price is a positive number within the bounds of what it buys, and no placeholder of a price list.

    Without a hardware catalogue, or for a price that names no accelerator, those bounds are not known, and
    only what no accelerator can cost is found.
    """
    if price is None:
        return DataFact(CHECK, variant, 0, 0, "the run was planned without a price")
    return DataFact.of(CHECK, variant, 1, _violations(price, hardware))


def _violations(price: Price, hardware: HardwareCatalogue | None) -> list[str]:
    usd = price.usd_per_accelerator_hour
    if not (np.isfinite(usd) and usd > 0.0):
        return [f"{price.key}: {usd:g} USD an hour is not a price"]
    known = hardware or HardwareCatalogue(file=Path("hardware.yaml"), entries={})
    try:
        entry = PriceEntry(
            usd_per_accelerator_hour=usd,
            source=price.source,
            date=price.date,
            basis=price.basis,
            accelerator=price.accelerator if hardware is not None else None,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return [f"{price.key}: {usd:g} USD an hour: {first['msg']}"]
    catalogue = PriceCatalogue(file=Path("manifest.json"), entries={price.key: entry})
    return [found.message for found in price_sanity(catalogue, known) if found.severity == "error"]
