"""Deletes what ``garbage`` has found, in an order in which nothing that counts can lose a file."""

from __future__ import annotations

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import ObjectExists
from seedance_ops.training.checkpoint.garbage import Waste
from seedance_ops.training.checkpoint.manifest import MANIFEST, Abandoned


def collect(store: ObjectStore, waste: Waste) -> bool:
    """Delete it; False, and no change, where its writer has committed it meanwhile.

    Raises:
        StorageError: The store does not answer, or refuses.
    """
    if waste.upload is not None:
        store.abort_upload(waste.upload)
        return True
    if waste.needs_tombstone:
        # Its writer may have looked at the fences before, and be slow: then its manifest is refused.
        tombstone = Abandoned(abandoned_by="seedance checkpoint gc").model_dump_json().encode()
        try:
            store.put(f"{waste.where}/{MANIFEST}", tombstone, if_absent=True)
        except ObjectExists:
            return False
    if waste.kind == "superfluous":
        store.delete(waste.keys[0])  # what makes it count, and alone: a batch has no order
        store.delete(*waste.keys[1:])
    elif waste.kind == "given up":
        tombstones = [key for key in waste.keys if key.endswith(f"/{MANIFEST}")]
        store.delete(*(key for key in waste.keys if key not in tombstones))
        store.delete(*tombstones)
    else:
        store.delete(*waste.keys)
    return True
