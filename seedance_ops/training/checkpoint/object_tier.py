"""Checkpoints in the object store: shards in parts, the manifest last and under a condition."""

from __future__ import annotations

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import ObjectMissing
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.manifest import CheckpointManifest


class ObjectTier:
    """A run's place in the object store. Every rank stores there; rank 0 alone commits and deletes."""

    name = "object"

    def __init__(self, store: ObjectStore, catalogue: CheckpointCatalogue) -> None:
        self._catalogue = catalogue
        self._store = store

    def store(self, folder: str, name: str, data: memoryview) -> None:
        """In parts, several at a time; an upload that fails leaves nothing behind that lists as an object."""
        self._store.put_buffer(f"{folder}/{name}", data)

    def commit(self, manifest: CheckpointManifest) -> None:
        """Raise ``Superseded`` where a later submission has taken over, before or while this was stored."""
        self._catalogue.commit(manifest)

    def committed(self) -> list[CheckpointManifest]:
        """As the catalogue has them."""
        return self._catalogue.committed()

    def size(self, folder: str, name: str) -> int | None:
        """Of the object."""
        try:
            return self._store.size(f"{folder}/{name}")
        except ObjectMissing:
            return None

    def read(self, folder: str, name: str, into: memoryview) -> None:
        """Several ranges at a time, straight into the memory."""
        self._store.read_into(f"{folder}/{name}", into)

    def delete(self, manifest: CheckpointManifest) -> None:
        """The manifest first."""
        self._catalogue.delete(manifest)
