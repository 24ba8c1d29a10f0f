"""A fault found in a job's values, before it is known where in the file they stand."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Finding:
    """What is wrong, at which key."""

    path: Path
    message: str
    allowed: str | None = None
    suggestion: str | None = None
    reads: tuple[Path, ...] = ()
    """Other keys the judgement rests on: where one of them is itself invalid, the finding is void."""
    at_key: bool = False
    """Whether the key, not its value, is at fault."""


def nearest(name: object, known: Iterable[str]) -> str | None:
    """The known name most like ``name``, if any is like it at all."""
    matches = difflib.get_close_matches(str(name)[:100].lower(), list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def listed(names: Iterable[str], most: int = 40) -> str:
    """Names for a message, cut off where there are too many to read."""
    names = list(names)
    rest = f", … ({len(names) - most} more)" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def dotted(path: Path) -> str:
    """A path as users write it."""
    return ".".join(str(name) for name in path)
