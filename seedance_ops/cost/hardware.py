"""The hardware catalogue: what accelerators can do at best, at which precision, and what power they draw."""

from __future__ import annotations

from datetime import date as Date  # noqa: N812 - the field below is called date
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from seedance_ops.cost.catalogue import CatalogueError, PriceKey, explained
from seedance_ops.strict_model import StrictModel

Dtype = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4"]
Sparsity = Literal["dense", "sparse"]


class HardwareMissing(LookupError):  # noqa: N818 - named for what is wrong, like the store's errors
    """An accelerator or a peak that was needed is not in the catalogue: there is no default."""


class Peak(StrictModel):
    """One theoretical peak: multiply and add count as two operations."""

    dtype: Dtype
    sparsity: Sparsity
    """``sparse``: only where two of every four weights are zero, which training does not have."""
    units: Literal["vector", "matrix"]
    """Which units reach it: ``matrix`` needs matrix products."""
    tera_ops_per_s: float = Field(gt=0.0, le=100_000.0)
    """10¹² operations per second: TFLOPS, or TOPS for integers."""


class UsdPerHourBounds(StrictModel):
    """Between which an hour of one accelerator is plausible; outside, somebody mixed up units or nodes."""

    low: float = Field(gt=0.0)
    high: float = Field(gt=0.0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low {self.low} must be below high {self.high}")
        return self


class GradientCompressionProfile(StrictModel):
    """How an accelerator takes part in ``mixed_precision`` gradient compression (R3.2)."""

    threshold_scale: float = Field(gt=0.0, le=2.0)
    """What the threshold by which it selects is multiplied by: below 1 it selects more."""
    k_range: tuple[float, float]
    """Least and largest share of the elements that it sends."""
    top_k: bool
    """Whether it selects at all; else it sends every element."""
    basis: Literal["published", "measured"]
    """``published``: somebody's claim, never measured by this project."""
    source: str = Field(min_length=3, max_length=500)
    """Where the figures were read, or how they were measured."""

    @model_validator(mode="after")
    def _ordered_shares(self) -> Self:
        low, high = self.k_range
        if not 0.0 < low <= high <= 1.0:
            raise ValueError(f"k_range [{low}, {high}] must be two ascending shares in (0, 1]")
        return self


class Accelerator(StrictModel):
    """One entry of ``include/catalog/hardware.yaml``."""

    name: str = Field(min_length=1, max_length=100)
    vendor: str = Field(min_length=1, max_length=50)
    memory_gb: float | None = Field(default=None, gt=0.0)
    """10⁹ bytes, as data sheets count; none for a CPU core."""
    memory_gb_per_s: float | None = Field(default=None, gt=0.0)
    """Peak memory bandwidth, 10⁹ bytes per second."""
    power_w: float = Field(gt=0.0, le=10_000.0)
    """Thermal design power or board power at most, W: what it may draw, not what it draws."""
    peaks: tuple[Peak, ...] = Field(min_length=1)
    plausible_usd_per_hour: UsdPerHourBounds
    """This project's judgement, wide on purpose, from list prices and spot markets; not a price."""
    source: str = Field(min_length=3, max_length=500)
    """The data sheet, or what the figures are computed from."""
    date: Date
    """The day on which the entry was made."""
    basis: Literal["data sheet", "computed"]
    gradient_compression: GradientCompressionProfile | None = None
    """None: nobody has published or measured one."""
    note: str | None = Field(default=None, max_length=1000)

    @model_validator(mode="after")
    def _each_peak_once(self) -> Self:
        keys = [(peak.dtype, peak.sparsity, peak.units) for peak in self.peaks]
        if len(set(keys)) != len(keys):
            raise ValueError("two peaks have the same dtype, sparsity and units")
        return self

    def peak(self, dtype: Dtype, sparsity: Sparsity = "dense") -> Peak:
        """The highest peak at a precision; raises ``HardwareMissing`` where the data sheet names none."""
        found = [peak for peak in self.peaks if (peak.dtype, peak.sparsity) == (dtype, sparsity)]
        if not found:
            known = ", ".join(sorted({f"{peak.dtype} {peak.sparsity}" for peak in self.peaks}))
            raise HardwareMissing(f"{self.name} has no {sparsity} peak for {dtype} (it has: {known})")
        return max(found, key=lambda peak: peak.tera_ops_per_s)


class _HardwareFile(StrictModel):
    accelerators: dict[PriceKey, Accelerator]


class HardwareCatalogue(StrictModel):
    """Every accelerator by its key."""

    file: Path
    entries: dict[str, Accelerator]

    def accelerator(self, key: str) -> Accelerator:
        """The accelerator under a key; raises ``HardwareMissing``, which names those there are."""
        if key not in self.entries:
            known = ", ".join(sorted(self.entries)) or "none"
            raise HardwareMissing(
                f"accelerator {key!r} is not in {self.file} (it has: {known}); "
                "add the entry with its data sheet, or correct the key"
            )
        return self.entries[key]


def load_hardware(path: Path) -> HardwareCatalogue:
    """Read the catalogue.

    Raises:
        HardwareMissing: There is no such file.
        CatalogueError: It is not a valid catalogue.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HardwareMissing(
            f"there is no hardware catalogue {path}; create it with the key accelerators"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path} is not YAML: {error}") from None
    try:
        return HardwareCatalogue(file=path, entries=_HardwareFile.model_validate(data).accelerators)
    except ValidationError as error:
        raise CatalogueError(f"{path}: {explained(error)}") from None
