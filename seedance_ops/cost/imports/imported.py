"""What an import found: entries for the price catalogue, and every row that was refused or is doubtful."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import yaml
from pydantic import ValidationError

from seedance_ops.cost.catalogue import PriceEntry, explained
from seedance_ops.cost.errors import CostError

Kind = Literal[
    "empty_price",
    "bad_number",
    "sentinel",
    "duplicate",
    "disagreement",
    "wrong_count",
    "odd_count",
    "host_alone",
    "accelerator_alone",
    "spot_is_list",
    "default_price",
    "out_of_bounds",
    "no_hours",
    "unknown_accelerator",
    "bad_entry",
]


class ImportFailed(CostError):  # noqa: N818 - named for what is wrong, like the store's errors
    """The file is not what its format says."""


@dataclass(frozen=True)
class ImportFinding:
    """A row that was left out, or taken with a doubt."""

    row: int
    """Line in the file, from 1; 0 where the finding is about the whole file."""
    kind: Kind
    refused: bool
    """Whether the row gave no entry."""
    message: str

    def render(self) -> str:
        """One line for a terminal."""
        place = f"row {self.row}: " if self.row else ""
        return f"{'refused' if self.refused else 'doubtful'}: {place}{self.message}"


@dataclass(frozen=True)
class Imported:
    """Entries by key, and findings in the order of the rows."""

    entries: dict[str, PriceEntry]
    findings: tuple[ImportFinding, ...]
    skipped: int = 0
    """Rows that are not about accelerators, or not of the region asked for."""

    @property
    def refused(self) -> tuple[ImportFinding, ...]:
        """Findings about rows that gave no entry."""
        return tuple(finding for finding in self.findings if finding.refused)

    def as_yaml(self) -> str:
        """The entries as ``prices.yaml`` has them."""
        entries = {key: plain(entry) for key, entry in self.entries.items()}
        text: str = yaml.dump(
            {"prices": entries}, Dumper=_WithoutAliases, sort_keys=False, allow_unicode=True, width=110
        )
        return text


class _WithoutAliases(yaml.SafeDumper):
    """Entries are copied one by one: none may point into another."""

    def ignore_aliases(self, data: object) -> bool:
        """Write every value out."""
        del data
        return True


def plain(entry: PriceEntry) -> dict[str, object]:
    """An entry without what it does not say."""
    return entry.model_dump(exclude_none=True, exclude_defaults=False, exclude={"currency"})


def entry_of(fields: dict[str, object], row: int) -> PriceEntry | ImportFinding:
    """A catalogue entry, or the finding that it is none."""
    try:
        return PriceEntry.model_validate(fields)
    except ValidationError as error:
        return ImportFinding(row, "bad_entry", refused=True, message=explained(error))
