"""SkyPilot's catalogue (``vms.csv`` of one cloud): one row per instance type, region and zone."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date as Date  # noqa: N812
from pathlib import Path

from seedance_ops.cost.catalogue import PriceEntry
from seedance_ops.cost.hardware import HardwareCatalogue
from seedance_ops.cost.imports.imported import Imported, ImportFailed, ImportFinding, Kind, entry_of
from seedance_ops.cost.price_checks import bounds_hint
from seedance_ops.cost.price_traps import (
    accelerators_of_instance,
    hardware_key,
    is_gpu_host_alone,
    is_sentinel,
)

_USUAL_COUNTS = frozenset({1, 2, 4, 8, 16})
_NEEDED = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region")


@dataclass(frozen=True)
class _List:
    """What all rows of a file have in common."""

    provider: str
    day: Date
    file: str
    hardware: HardwareCatalogue | None


@dataclass(frozen=True)
class _Row:
    number: int
    instance_type: str
    accelerator: str
    count: float
    usd: float
    spot_usd: float | None
    region: str
    zone: str


def read_skypilot(
    path: Path,
    *,
    provider: str,
    day: Date,
    region: str | None = None,
    hardware: HardwareCatalogue | None = None,
) -> Imported:
    """Entries for every instance type with accelerators, and a spot entry where there is a spot price.

    A type's rows in several zones of a region become one entry: the list price is the same, of the spot
    prices the lowest is taken. Refused rows are named, never corrected.

    Args:
        path: The CSV.
        provider: Begins every key: ``aws``.
        day: The day to which the prices are dated: the file has none.
        region: Only this region's rows.
        hardware: Bounds by accelerator; without it implausible prices pass.

    Raises:
        ImportFailed: It is no such CSV.
    """
    findings: list[ImportFinding] = []
    groups: dict[tuple[str, str], list[_Row]] = {}
    skipped = 0
    for number, cells in _cells(path):
        if (region is not None and cells["Region"] != region) or _is_other_hardware(cells):
            skipped += 1
            continue
        row = _row(number, cells)
        if isinstance(row, ImportFinding):
            findings.append(row)
        else:
            groups.setdefault((row.instance_type, row.region), []).append(row)
    of = _List(provider, day, path.name, hardware)
    entries: dict[str, PriceEntry] = {}
    for rows in groups.values():
        for key, entry in _entries(rows, of, findings):
            if fault := _key_fault(key, entries):
                findings.append(ImportFinding(rows[0].number, "bad_entry", refused=True, message=fault))
            else:
                entries[key] = entry
    return Imported(entries, tuple(sorted(findings, key=lambda found: found.row)), skipped)


def _cells(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = reader.fieldnames or []
            if missing := [name for name in _NEEDED if name not in names]:
                raise ImportFailed(f"{path}: not SkyPilot's catalogue: no column {', '.join(missing)}")
            for cells in reader:
                yield reader.line_num, {name: (cells.get(name) or "").strip() for name in names}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ImportFailed(f"{path}: {error}") from None


def _is_other_hardware(cells: Mapping[str, str]) -> bool:
    """A machine without accelerators that is not the host half of one that has them."""
    return not cells["AcceleratorName"] and not is_gpu_host_alone(cells["InstanceType"])


def _row(number: int, cells: Mapping[str, str]) -> _Row | ImportFinding:
    instance, accelerator, spot = cells["InstanceType"], cells["AcceleratorName"], cells.get("SpotPrice", "")
    usd, count = _number(cells["Price"]), _number(cells["AcceleratorCount"])
    fault = _half(instance, accelerator) or _fault(cells, usd, count)
    if fault is not None:
        kind, message = fault
        return ImportFinding(number, kind, refused=True, message=f"{instance or accelerator}: {message}")
    return _Row(
        number, instance, accelerator, count, usd,
        _number(spot) if spot else None, cells["Region"], cells.get("AvailabilityZone", ""),
    )  # fmt: skip


def _half(instance: str, accelerator: str) -> tuple[Kind, str] | None:
    """Why a row prices half a machine: the list has host and accelerator in rows of their own."""
    if not accelerator:
        return "host_alone", "the host without its accelerators, which this list prices in rows of their own"
    if not instance:
        return "accelerator_alone", "an accelerator without its host, which this list prices in its own row"
    return None


def _fault(cells: Mapping[str, str], usd: float, count: float) -> tuple[Kind, str] | None:
    """Why a row's figures cannot be."""
    known = accelerators_of_instance(cells["InstanceType"])
    faults: tuple[tuple[bool, Kind, str], ...] = (
        (not cells["Price"], "empty_price", "no price"),
        (
            not (usd > 0.0 and math.isfinite(usd)),
            "bad_number",
            f"price {cells['Price']!r} is not a number above 0",
        ),
        (
            not (count >= 1.0 and count.is_integer()),
            "bad_number",
            f"AcceleratorCount {cells['AcceleratorCount']!r} is not a whole number above 0",
        ),
        (is_sentinel(usd), "sentinel", f"{usd:g} USD is this list's placeholder for no price"),
        (
            known is not None and known != count,
            "wrong_count",
            f"listed with {count:g} accelerators, has {known}",
        ),
    )
    return next(((kind, message) for wrong, kind, message in faults if wrong), None)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _entries(rows: list[_Row], of: _List, findings: list[ImportFinding]) -> Iterator[tuple[str, PriceEntry]]:
    first = rows[0]
    label = f"{first.instance_type} in {first.region or 'no region'}"
    if len({(row.usd, row.count, row.accelerator) for row in rows}) > 1:
        prices = ", ".join(f"{row.usd:g}" for row in rows)
        findings.append(
            ImportFinding(
                first.number,
                "disagreement",
                refused=True,
                message=f"{label}: rows disagree ({prices} USD an hour)",
            )
        )
        return
    findings.extend(_duplicates(rows, label))
    if first.count not in _USUAL_COUNTS:
        message = f"{label}: {first.count:g} accelerators on a node are unusual; look it up"
        findings.append(ImportFinding(first.number, "odd_count", refused=False, message=message))
    key = hardware_key(first.accelerator)
    doubt = _bounds_finding(first, key, label, of)
    if doubt is not None:
        findings.append(doubt)
        if doubt.refused:
            return
    spots = [spot for row in rows if (spot := _spot(row, label, findings)) is not None]
    for basis, usd in (("list", first.usd), ("spot", min(spots, default=None))):
        if usd is None:
            continue
        entry = entry_of(_fields(first, usd, basis, key) | _origin(of, first), first.number)
        if isinstance(entry, ImportFinding):
            findings.append(entry)
        else:
            yield _key(of.provider, first) + ("-spot" if basis == "spot" else ""), entry


def _bounds_finding(row: _Row, key: str | None, label: str, of: _List) -> ImportFinding | None:
    if key is None:
        message = f"{label}: no bounds are known for {row.accelerator}"
        return ImportFinding(row.number, "unknown_accelerator", refused=False, message=message)
    if of.hardware is None or key not in of.hardware.entries:
        return None
    hint = bounds_hint(row.usd / row.count, of.hardware.entries[key].plausible_usd_per_hour)
    if hint is None:
        return None
    return ImportFinding(row.number, "out_of_bounds", refused=True, message=f"{label}: {hint}")


def _duplicates(rows: list[_Row], label: str) -> Iterator[ImportFinding]:
    seen: set[str] = set()
    for row in rows:
        if row.zone in seen:
            yield ImportFinding(
                row.number, "duplicate", refused=False, message=f"{label}: the same row again; taken once"
            )
        seen.add(row.zone)


def _spot(row: _Row, label: str, findings: list[ImportFinding]) -> float | None:
    """The row's spot price, unless it is none."""
    if row.spot_usd is None:
        return None
    if not (math.isfinite(row.spot_usd) and row.spot_usd > 0.0):
        kind: Kind = "bad_number"
        message = f"{label}: spot price {row.spot_usd} is not a number above 0; no spot entry"
    elif row.spot_usd >= row.usd * (1.0 - 1e-4):  # lists round one of the two
        kind = "spot_is_list"
        message = f"{label}: the spot price equals the list price, so it is none; no spot entry"
    else:
        return row.spot_usd
    findings.append(ImportFinding(row.number, kind, refused=False, message=message))
    return None


def _fields(row: _Row, usd: float, basis: str, accelerator: str | None) -> dict[str, object]:
    return {
        "usd_per_node_hour": usd,
        "accelerators_per_node": int(row.count),
        "basis": basis,
        "note": "The list carries no day; the date is that of the import.",
        "accelerator": accelerator,
        "instance_type": row.instance_type,
        "region": row.region or None,
    }


def _origin(of: _List, row: _Row) -> dict[str, object]:
    source = f"SkyPilot catalogue, {of.provider}, {of.file}, row {row.number}: {row.instance_type}"
    return {"source": source, "date": of.day}


def _key(provider: str, row: _Row) -> str:
    name = row.instance_type.lower().removeprefix("standard_")
    joined = "-".join(part for part in (provider, name, row.region) if part).lower()
    return re.sub(r"[^a-z0-9.-]+", "-", joined)


def _key_fault(key: str, entries: Mapping[str, PriceEntry]) -> str | None:
    """Why a key cannot be used: none is shortened or overwritten in silence."""
    if key in entries:
        return f"{key}: another type of this list has the same key"
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,62}", key):
        return f"{key}: a key has at most 63 characters and begins with a letter or digit; shorten --provider"
    return None
