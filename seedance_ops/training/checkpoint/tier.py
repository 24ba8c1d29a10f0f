"""What a place for checkpoints does: memory, a local disk or an object store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from seedance_ops.training.checkpoint.manifest import CheckpointManifest


class Tier(Protocol):
    """One place, as one rank uses it. Errors are ``OSError``, ``StorageError`` or ``CheckpointError``."""

    name: str

    def store(self, folder: str, name: str, data: memoryview) -> None:
        """Store a shard; it outlives this process when this returns."""

    def commit(self, manifest: CheckpointManifest) -> None:
        """Make a checkpoint count, once, after all that it names is stored."""

    def committed(self) -> Sequence[CheckpointManifest]:
        """The checkpoints that count here and are this job's, oldest first."""

    def size(self, folder: str, name: str) -> int | None:
        """Bytes of a shard; ``None`` where there is none."""

    def read(self, folder: str, name: str, into: memoryview) -> None:
        """Fill memory with a shard of that size."""

    def delete(self, manifest: CheckpointManifest) -> None:
        """Delete a checkpoint: what makes it count first."""
