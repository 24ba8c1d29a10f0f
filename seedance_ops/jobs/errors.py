"""What is wrong with a job: the place, the value, what is allowed, and the next step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

MOST_ERRORS = 50
"""More of one file are not worth reading."""


@dataclass(frozen=True, order=True)
class Place:
    """A position in a file; lines and columns count from 1."""

    source: Path
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


@dataclass(frozen=True)
class JobError:
    """One fault of a job."""

    message: str
    place: Place | None = None
    path: str = ""
    """Dotted path to the key; empty for the file as a whole."""
    value: str | None = None
    """The value as written, shortened, and masked where it could be a secret."""
    allowed: str | None = None
    suggestion: str | None = None
    """The nearest valid key or name, or what to write instead."""
    context: tuple[tuple[int, str], ...] = field(default=(), compare=False)
    """The lines around the place, by number."""

    def headline(self) -> str:
        """Place, path and message on one line."""
        where = f"{self.place}: " if self.place else ""
        path = f"{self.path}: " if self.path else ""
        return f"{where}{path}{self.message}"

    def render(self) -> str:
        """The headline, then what helps to mend it."""
        lines = [self.headline()]
        if self.value is not None:
            lines.append(f"    value: {self.value}")
        if self.allowed is not None:
            lines.append(f"    allowed: {self.allowed}")
        if self.suggestion is not None:
            lines.append(f"    try: {self.suggestion}")
        for number, text in self.context:
            lines.append(f"    {number:>5} | {text}")
            if self.place and number == self.place.line:
                lines.append(f"          | {' ' * (self.place.column - 1)}^")
        return "\n".join(lines)

    def to_json(self) -> dict[str, JsonValue]:
        """The same as plain data, for editors and scripts."""
        return {
            "file": str(self.place.source) if self.place else None,
            "line": self.place.line if self.place else None,
            "column": self.place.column if self.place else None,
            "path": self.path,
            "message": self.message,
            "value": self.value,
            "allowed": self.allowed,
            "suggestion": self.suggestion,
        }


class JobErrors(Exception):  # noqa: N818 (it holds several)
    """All faults of a job at once, in the order of the file."""

    def __init__(self, errors: Iterable[JobError]) -> None:
        self.errors = tuple(sorted(errors, key=_position))
        super().__init__(self.render())

    def render(self) -> str:
        """Every error, one below the other."""
        return "\n".join(error.render() for error in self.errors)

    def to_json(self) -> list[dict[str, JsonValue]]:
        """Every error as plain data."""
        return [error.to_json() for error in self.errors]

    def __reduce__(self) -> tuple[type[JobErrors], tuple[tuple[JobError, ...]]]:
        return JobErrors, (self.errors,)


def _position(error: JobError) -> tuple[str, int, int]:
    if error.place is None:
        return ("", 0, 0)
    return (str(error.place.source), error.place.line, error.place.column)
