"""A fault found in a job's values, before it is known where in the file they stand."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

Path = tuple[str | int, ...]

_LEAST_BEGINNING = 3
"""Letters from which a name counts as the beginning of a longer one: ``topk`` of ``topk_error_feedback``."""


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
    written, choices = str(name)[:100].lower(), list(known)
    matches = difflib.get_close_matches(written, choices, n=1, cutoff=0.6)
    if not matches and len(written) >= _LEAST_BEGINNING:
        matches = [choice for choice in choices if _letters(choice).startswith(_letters(written))]
    return matches[0] if matches else None


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def listed(names: Iterable[str], most: int = 40) -> str:
    """Names for a message, cut off where there are too many to read."""
    names = list(names)
    rest = f", … ({len(names) - most} more)" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def dotted(path: Path) -> str:
    """A path as users write it."""
    return ".".join(str(name) for name in path)
