"""Files that other processes read: whole or absent, whenever the writer dies, and private to their owner."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace a file so that a reader, or a crash, sees the old or the new text, never a part."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(
        os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def create_whole(path: Path, text: str) -> bool:
    """Create a file with its whole text; False, and no change, where it exists already."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    write_whole(draft, text)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True
