"""The price catalogue: what an accelerator's hour costs, with source, date and basis of every figure."""

from __future__ import annotations

from datetime import date as Date  # noqa: N812 - the field below is called date
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from seedance_ops.cost.peaks import PeakUsed, training_peak
from seedance_ops.strict_model import StrictModel

Basis = Literal["list", "spot", "contracted", "amortised"]
Origin = Literal["catalogue", "user"]
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
    accelerator: str | None = Field(default=None, max_length=63)
    """Key in ``hardware.yaml`` of what the price is for: the bounds that it must lie in are found by it."""
    instance_type: str | None = Field(default=None, max_length=100)
    """The provider's name of the node."""
    region: str | None = Field(default=None, max_length=63)
    """Where the price holds; none where the list did not say."""
    currency: Literal["USD"] = "USD"
    """Every price is in USD: one ledger has one currency."""

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
    accelerator: str | None = None
    """Key in ``hardware.yaml``."""
    peak: PeakUsed | None = None
    """What that accelerator can do at best; none where it is not there."""
    origin: Origin = "catalogue"
    """``user``: from an overlay, which is the reader's own and not part of the project."""


class _CatalogueFile(StrictModel):
    prices: dict[PriceKey, PriceEntry]


class PriceCatalogue(StrictModel):
    """Every price by its key."""

    file: Path
    entries: dict[str, PriceEntry]
    overlaid: frozenset[str] = frozenset()
    """Keys whose entry is from an overlay."""
    peaks: dict[str, PeakUsed] = {}
    """By the accelerator's key in ``hardware.yaml``."""

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
            accelerator=entry.accelerator,
            peak=self.peaks.get(entry.accelerator or ""),
            origin="user" if key in self.overlaid else "catalogue",
        )


def load_prices(path: Path, overlay: Path | None = None) -> PriceCatalogue:
    """Read the catalogue; what accelerators can do from the ``hardware.yaml`` beside it, if there is one.

    Args:
        path: The project's catalogue.
        overlay: A second file of the same form, outside the repository: what a contract says. Its entries
            replace the catalogue's or add to them. An entry without ``basis`` is ``contracted``.

    Raises:
        PriceMissing: There is no such file.
        CatalogueError: One of them is not a valid catalogue.
    """
    entries, peaks = _entries(path), _peaks(path.with_name("hardware.yaml"))
    if overlay is None:
        return PriceCatalogue(file=path, entries=entries, peaks=peaks)
    own = _entries(overlay, basis="contracted")
    return PriceCatalogue(file=path, entries=entries | own, overlaid=frozenset(own), peaks=peaks)


def explained(error: ValidationError) -> str:
    """Every error of a file on one line, each with the path to its key."""
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'the file'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)
    )


def _peaks(hardware: Path) -> dict[str, PeakUsed]:
    from seedance_ops.cost.hardware import load_hardware  # which needs this module's errors

    if not hardware.is_file():
        return {}
    found = {key: training_peak(key, entry) for key, entry in load_hardware(hardware).entries.items()}
    return {key: peak for key, peak in found.items() if peak is not None}


def _entries(path: Path, basis: Basis | None = None) -> dict[str, PriceEntry]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PriceMissing(f"there is no price catalogue {path}; create it with the key prices") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path} is not YAML: {error}") from None
    try:
        return _CatalogueFile.model_validate(_with_basis(data, basis)).prices
    except ValidationError as error:
        raise CatalogueError(f"{path}: {explained(error)}") from None


def _with_basis(data: object, basis: Basis | None) -> object:
    """The file's data, with a basis in every entry that names none; what is no catalogue stays as it is."""
    if basis is None or not isinstance(data, dict) or not isinstance(data.get("prices"), dict):
        return data
    prices = {
        key: {"basis": basis} | entry if isinstance(entry, dict) else entry
        for key, entry in data["prices"].items()
    }
    return data | {"prices": prices}


def _usd_per_accelerator_hour(entry: PriceEntry) -> float:
    if entry.usd_per_accelerator_hour is not None:
        return entry.usd_per_accelerator_hour
    assert entry.usd_per_node_hour is not None
    assert entry.accelerators_per_node is not None
    return entry.usd_per_node_hour / entry.accelerators_per_node
