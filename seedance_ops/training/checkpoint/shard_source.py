"""Where a command reads the shards of one checkpoint: the object store, or the folder they were pulled to."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import ObjectMissing
from seedance_ops.training.checkpoint.manifest import (
    LARGEST_MANIFEST_BYTES,
    MANIFEST,
    CheckpointManifest,
    read_manifest,
)
from seedance_ops.training.errors import CheckpointError


class ShardSource(Protocol):
    """The shards of one checkpoint. Errors are ``StorageError``, ``OSError`` or ``CheckpointError``."""

    def size(self, name: str) -> int | None:
        """Bytes of a shard; ``None`` where there is none."""

    def read(self, name: str, begin: int, into: memoryview) -> None:
        """Fill memory with a shard's bytes from ``begin`` on."""


@dataclass(frozen=True)
class StoredShards:
    """In the object store."""

    store: ObjectStore
    folder: str

    def size(self, name: str) -> int | None:
        """Of the object."""
        try:
            return self.store.size(f"{self.folder}/{name}")
        except ObjectMissing:
            return None

    def read(self, name: str, begin: int, into: memoryview) -> None:
        """Several ranges at a time."""
        self.store.read_into(f"{self.folder}/{name}", into, begin)


@dataclass(frozen=True)
class PulledShards:
    """In a folder, beside their manifest."""

    folder: Path

    def manifest(self) -> CheckpointManifest:
        """Raise ``CheckpointError`` where the folder holds no checkpoint, or one that is not whole."""
        path = self.folder / MANIFEST
        if not path.is_file():
            raise CheckpointError(
                f"{self.folder} holds no {MANIFEST}: it is not what `seedance checkpoint pull` has finished"
            )
        try:
            with path.open("rb") as file:
                data = file.read(LARGEST_MANIFEST_BYTES + 1)
        except OSError as error:
            raise CheckpointError(f"cannot read {path}: {error.strerror}") from error
        try:
            document = read_manifest(data)
        except CheckpointError as error:
            raise CheckpointError(f"{self.folder}: {error}") from error
        if not isinstance(document, CheckpointManifest):
            raise CheckpointError(f"{path} says that its checkpoint was given up")
        return document

    def size(self, name: str) -> int | None:
        """Of the file; what is no plain file does not count, so that none waits for a pipe."""
        try:
            found = (self.folder / name).stat()
        except OSError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def read(self, name: str, begin: int, into: memoryview) -> None:
        """Raise ``CheckpointError`` where it ends before."""
        file = os.open(self.folder / name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            done = 0
            while done < len(into):
                moved = os.preadv(file, [into[done:]], begin + done)
                if not moved:
                    raise CheckpointError(f"it ends after {begin + done} bytes")
                done += moved
        finally:
            os.close(file)
