"""An OpenCost allocation export: what a cluster charged itself, per GPU and CPU core and hour."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date as Date  # noqa: N812
from pathlib import Path

from seedance_ops.cost.catalogue import PriceEntry
from seedance_ops.cost.errors import CurrenciesMixed
from seedance_ops.cost.hardware import HardwareCatalogue
from seedance_ops.cost.imports.imported import Imported, ImportFailed, ImportFinding, entry_of
from seedance_ops.cost.price_checks import bounds_hint
from seedance_ops.cost.price_traps import OPENCOST_DEFAULT_GPU_USD_PER_HOUR

_COST_FIELDS = ("gpuHours", "gpuCost", "cpuCoreHours", "cpuCost")


@dataclass(frozen=True)
class _Export:
    """What all rows of a file have in common."""

    rows: list[tuple[int, Mapping[str, object]]]
    day: Date
    file: str
    hardware: HardwareCatalogue | None


@dataclass(frozen=True)
class _Resource:
    name: str
    hours: str
    cost: str
    adjustment: str
    bounds: str | None


_RESOURCES = (
    _Resource("gpu", "gpuHours", "gpuCost", "gpuCostAdjustment", None),
    _Resource("cpu-core", "cpuCoreHours", "cpuCost", "cpuCostAdjustment", "cpu-core"),
)


def read_opencost(
    path: Path,
    *,
    provider: str,
    day: Date,
    accelerator: str | None = None,
    hardware: HardwareCatalogue | None = None,
) -> Imported:
    """One entry for a GPU's hour and one for a CPU core's: Σ cost ÷ Σ hours over the whole export.

    An allocation export knows no GPU model: say which with ``accelerator``, or the price has no bounds.
    Memory, volumes and network are in neither price.

    Args:
        path: The answer of ``/allocation`` as JSON, or the same fields as CSV.
        provider: Begins every key.
        day: The day to which the prices are dated.
        accelerator: Key in ``hardware.yaml`` of the cluster's GPU.
        hardware: Bounds by accelerator.

    Raises:
        ImportFailed: It is no allocation export, or one without hours.
        CurrenciesMixed: Rows are in several currencies, or in another than USD.
    """
    rows = list(_csv_rows(path) if path.suffix == ".csv" else _json_rows(path))
    _one_currency(path, rows)
    if not any(row.get(name) is not None for _, row in rows for name in ("gpuHours", "cpuCoreHours")):
        raise ImportFailed(
            f"{path}: no gpuHours or cpuCoreHours in any row; OpenCost's own CSV export lacks them: "
            "save the answer of /allocation as JSON"
        )
    export = _Export(rows, day, path.name, hardware)
    findings: list[ImportFinding] = []
    entries: dict[str, PriceEntry] = {}
    for resource in _RESOURCES:
        key = accelerator if resource.name == "gpu" else resource.bounds
        entry = _entry(resource, key, export, findings)
        if entry is not None:
            entries[f"{provider}-{resource.name}"] = entry
    return Imported(entries, tuple(findings))


def _json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ImportFailed(f"{path}: not JSON: {error}") from None
    sets = answer.get("data") if isinstance(answer, dict) else answer
    if not isinstance(sets, list) or not all(isinstance(one, dict) for one in sets):
        raise ImportFailed(f"{path}: not an allocation export: it has no list of sets under data")
    for one in sets:
        for allocation in one.values():
            if not isinstance(allocation, dict):
                raise ImportFailed(
                    f"{path}: not an allocation export: {str(allocation)[:50]!r} is no allocation"
                )
            yield 0, allocation


def _csv_rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    spellings = {
        name.lower(): name for name in (*_COST_FIELDS, "gpuCostAdjustment", "cpuCostAdjustment", "currency")
    }
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            for cells in reader:
                named = {
                    spellings.get(str(name).strip().lower(), str(name)): text for name, text in cells.items()
                }
                yield reader.line_num, {name: text for name, text in named.items() if text not in (None, "")}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ImportFailed(f"{path}: {error}") from None


def _one_currency(path: Path, rows: list[tuple[int, Mapping[str, object]]]) -> None:
    currencies = sorted({str(row["currency"]) for _, row in rows if row.get("currency")})
    if currencies not in ([], ["USD"]):
        raise CurrenciesMixed(
            f"{path}: costs in {', '.join(currencies)}; the catalogue is in USD alone: convert them at a "
            "rate that you name, or import each currency apart"
        )


def _entry(
    resource: _Resource, accelerator: str | None, export: _Export, findings: list[ImportFinding]
) -> PriceEntry | None:
    hours = usd = 0.0
    for number, row in export.rows:
        row_hours = _number(row.get(resource.hours))
        row_usd = _number(row.get(resource.cost)) + _number(row.get(resource.adjustment))
        if not (math.isfinite(row_hours) and math.isfinite(row_usd) and row_hours >= 0.0 and row_usd >= 0.0):
            message = (
                f"{resource.name}: {row_hours} hours for {row_usd} USD; both must be numbers of at least 0"
            )
            findings.append(ImportFinding(number, "bad_number", refused=True, message=message))
        elif row_usd > 0.0 and not row_hours > 0.0:
            message = f"{resource.name}: {row_usd:g} USD for no hours"
            findings.append(ImportFinding(number, "no_hours", refused=True, message=message))
        else:
            hours, usd = hours + row_hours, usd + row_usd
    if not hours > 0.0:
        return None
    return _priced(resource, usd / hours, accelerator, export, findings)


def _priced(
    resource: _Resource,
    usd_per_hour: float,
    accelerator: str | None,
    export: _Export,
    findings: list[ImportFinding],
) -> PriceEntry | None:
    if resource.name == "gpu" and math.isclose(usd_per_hour, OPENCOST_DEFAULT_GPU_USD_PER_HOUR, rel_tol=1e-3):
        message = (
            "gpu: 0.95 USD an hour is OpenCost's default for a GPU it has no price for; configure its prices"
        )
        findings.append(ImportFinding(0, "default_price", refused=True, message=message))
        return None
    if accelerator is None:
        message = (
            f"{resource.name}: the export names no model, so the price has no bounds; give --accelerator"
        )
        findings.append(ImportFinding(0, "unknown_accelerator", refused=False, message=message))
    elif export.hardware is not None and accelerator in export.hardware.entries:
        hint = bounds_hint(usd_per_hour, export.hardware.entries[accelerator].plausible_usd_per_hour)
        if hint:
            message = f"{resource.name} ({accelerator}): {hint}"
            findings.append(ImportFinding(0, "out_of_bounds", refused=True, message=message))
            return None
    fields = {
        "usd_per_accelerator_hour": usd_per_hour,
        "source": f"OpenCost allocation export {export.file}: Σ {resource.cost} ÷ Σ {resource.hours}",
        "date": export.day,
        "basis": "amortised",
        "note": "Without memory, volumes and network, which OpenCost charges apart.",
        "accelerator": accelerator,
    }
    entry = entry_of(fields, 0)
    if isinstance(entry, ImportFinding):
        findings.append(entry)
        return None
    return entry


def _number(value: object) -> float:
    """A field as a number: 0 where the export leaves it out, NaN where it is no number."""
    if value is None:
        return 0.0
    try:
        return float(str(value))
    except ValueError:
        return math.nan
