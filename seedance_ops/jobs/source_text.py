"""Read a job file's text, and refuse what is not text of a reasonable size."""

from __future__ import annotations

from pathlib import Path

from seedance_ops.jobs.errors import JobError, JobErrors, Place

MAXIMUM_BYTES = 1024 * 1024


def read_text(path: Path) -> str:
    """The file's text, at most ``MAXIMUM_BYTES`` of UTF-8; raises ``JobErrors``."""
    start = Place(path, 1, 1)
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAXIMUM_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte
        reason = getattr(error, "strerror", None) or error
        raise JobErrors([JobError(f"cannot be read: {reason}", start)]) from None
    if len(raw) > MAXIMUM_BYTES:
        raise JobErrors([_too_large(start)])
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        place = Place(path, line, column)
        raise JobErrors([JobError("not UTF-8", place, suggestion="save the file as UTF-8")]) from None


def check_text(text: str, source: Path) -> None:
    """Refuse an over-long text or one that starts with a byte order mark; raises ``JobErrors``."""
    start = Place(source, 1, 1)
    if len(text) > MAXIMUM_BYTES:
        raise JobErrors([_too_large(start)])
    if text.startswith("\ufeff"):
        message = "starts with a byte order mark (U+FEFF)"
        raise JobErrors([JobError(message, start, suggestion="save the file as UTF-8 without BOM")])
    surrogate = next((i for i, character in enumerate(text) if "\ud800" <= character <= "\udfff"), None)
    if surrogate is not None:
        line = text.count("\n", 0, surrogate) + 1
        place = Place(source, line, surrogate - text.rfind("\n", 0, surrogate))
        raise JobErrors([JobError("half of a surrogate pair is not a character", place)])


def _too_large(place: Place) -> JobError:
    return JobError(
        f"larger than {MAXIMUM_BYTES // 1024} KiB", place, suggestion="a job holds settings, not data"
    )
