"""The price catalogue: what an accelerator's hour costs, with source, date and basis of every figure."""

from __future__ import annotations

from datetime import date as Date  # noqa: N812 - the field below is called date
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from seedance_ops.strict_model import StrictModel

Basis = Literal["list", "spot", "contracted", "amortised"]
PriceKey = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]


class CatalogueError(ValueError):
    """The catalogue is not a catalogue; the message names the file, the entry and what is allowed."""


class PriceMissing(LookupError):  # noqa: N818 - named for what is wrong, like the store's errors
    """A price that was needed is not in the catalogue: there is no default."""


class PriceEntry(StrictModel):
    """One entry of ``include/catalog/prices.yaml``."""

    usd_per_accelerator_hour: float | None = Field(default=None, gt=0.0, le=10_000.0)
    """USD for one accelerator (or CPU core) for one hour."""
    usd_per_node_hour: float | None = Field(default=None, gt=0.0, le=1_000_000.0)
    """USD for a whole node for one hour; needs ``accelerators_per_node``."""
    accelerators_per_node: int | None = Field(default=None, ge=1, le=1024)
    """Accelerators (or CPU cores) that the node's price covers."""
    source: str = Field(min_length=3, max_length=500)
    """Where the figure was read."""
    date: Date
    """The day on which it was valid."""
    basis: Basis
    """What kind of price it is."""
    note: str | None = Field(default=None, max_length=1000)
    """What a reader must know before relying on it."""

    @model_validator(mode="after")
    def _one_price(self) -> PriceEntry:
        if (self.usd_per_accelerator_hour is None) == (self.usd_per_node_hour is None):
            raise ValueError("give exactly one of usd_per_accelerator_hour, usd_per_node_hour")
        if (self.usd_per_node_hour is None) != (self.accelerators_per_node is None):
            raise ValueError("usd_per_node_hour and accelerators_per_node go together")
        return self


class Price(StrictModel):
    """What one accelerator costs for one hour, and where that figure comes from."""

    key: str
    usd_per_accelerator_hour: float = Field(gt=0.0)
    source: str
    date: Date
    basis: Basis
    note: str | None = None


class _CatalogueFile(StrictModel):
    prices: dict[PriceKey, PriceEntry]


class PriceCatalogue(StrictModel):
    """Every price by its key."""

    file: Path
    entries: dict[str, PriceEntry]

    def price(self, key: str, *, variant: str) -> Price:
        """The price under a key; raises ``PriceMissing``, which names the variant that needs it."""
        if key not in self.entries:
            known = ", ".join(sorted(self.entries)) or "none"
            raise PriceMissing(
                f"variant {variant} is priced by {key!r}, which {self.file} does not have (it has: {known}); "
                "add the entry with its source, date and basis, or correct the launcher profile's price"
            )
        entry = self.entries[key]
        return Price(
            key=key,
            usd_per_accelerator_hour=_usd_per_accelerator_hour(entry),
            source=entry.source,
            date=entry.date,
            basis=entry.basis,
            note=entry.note,
        )


def load_prices(path: Path) -> PriceCatalogue:
    """Read the catalogue.

    Raises:
        PriceMissing: There is no such file.
        CatalogueError: It is not a valid catalogue.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PriceMissing(f"there is no price catalogue {path}; create it with the key prices") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path} is not YAML: {error}") from None
    try:
        return PriceCatalogue(file=path, entries=_CatalogueFile.model_validate(data).prices)
    except ValidationError as error:
        raise CatalogueError(f"{path}: {_explained(error)}") from None


def _usd_per_accelerator_hour(entry: PriceEntry) -> float:
    if entry.usd_per_accelerator_hour is not None:
        return entry.usd_per_accelerator_hour
    assert entry.usd_per_node_hour is not None
    assert entry.accelerators_per_node is not None
    return entry.usd_per_node_hour / entry.accelerators_per_node


def _explained(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'the file'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)
    )
