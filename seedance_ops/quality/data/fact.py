"""What a data check counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataFact:
    """One check on one variant's data."""

    check: str
    variant: str
    checked: int
    """Things that were looked at; with 0 the check says nothing, and so does not pass."""
    violations: int
    """How many of them are not as they must be."""
    example: str | None = None
    """One of those, or why nothing was checked, in words."""

    @classmethod
    def of(cls, check: str, variant: str, checked: int, violations: list[str]) -> DataFact:
        """From the violations, each in words."""
        return cls(check, variant, checked, len(violations), violations[0] if violations else None)
