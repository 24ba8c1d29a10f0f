"""Prices of what is not accelerator time: host, storage, requests, egress and energy; none has a default."""

from __future__ import annotations

from datetime import date as Date  # noqa: N812 - the field below is called date
from typing import Literal

from pydantic import Field

from seedance_ops.storage.traffic import RequestClass
from seedance_ops.strict_model import StrictModel

PriceSource = Literal["catalogue", "user"]
"""From a catalogue that names its source, or from whoever wrote the job."""


class UnitPrice(StrictModel):
    """USD for one unit; which unit is said by where it stands in ``OtherPrices``."""

    usd: float = Field(ge=0.0, le=1_000_000.0)
    """USD for one unit."""
    key: str = Field(min_length=1, max_length=63)
    """What the price is called in the list that it is from."""
    source: PriceSource = "user"
    """Who says so: whoever wrote the job, or a catalogue."""
    date: Date | None = None
    """The day on which it was valid."""


class StoragePrice(UnitPrice):
    """USD for a gigabyte (10⁹ bytes) for a month, and how long the bytes are kept."""

    kept_days: float = Field(gt=0.0, le=36_500.0)
    """Days that a byte written is kept and paid for; retention decides it, so it has no default."""


class OtherPrices(StrictModel):
    """Prices beside the accelerator's. What is left out is not priced, and ``not_priced`` says so."""

    host_usd_per_node_hour: UnitPrice | None = None
    """Only where the host is billed apart from its accelerators."""
    storage_usd_per_gb_month: dict[str, StoragePrice] = Field(default={})
    """By tier, as ``checkpoint_writes.tier`` has it: ``object``, ``local``."""
    requests_usd_per_1000: dict[RequestClass, UnitPrice] = Field(default={})
    """By class: ``put`` (also parts of uploads), ``get`` (also look-ups), ``list``, ``delete``."""
    egress_usd_per_gb: UnitPrice | None = None
    """Bytes sent to the object store; leave it out within a region, where they are usually free."""
    energy_usd_per_kwh: UnitPrice | None = None
    """Only where power is not part of the accelerator's price (own hardware)."""
