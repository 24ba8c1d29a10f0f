"""The committed checkpoints of one run in the object store: listing, committing, fencing, deleting."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.checkpoint.manifest import MANIFEST, ROOT, CheckpointManifest
from seedance_ops.training.errors import Superseded

_FENCE = f"{ROOT}/fence/submission-"

_log = logging.getLogger(__name__)


class CheckpointCatalogue:
    """Used by rank 0 only."""

    def __init__(self, store: ObjectStore, job_hash: str, submission: int) -> None:
        self._store = store
        self._job_hash = job_hash
        self._submission = submission
        self._read: dict[str, CheckpointManifest | None] = {}

    def claim(self) -> None:
        """Announce this submission: from here on an earlier one may not commit."""
        self._store.put(f"{_FENCE}{self._submission:03d}", b"")
        self.refuse_if_superseded()

    def refuse_if_superseded(self) -> None:
        """Raise where a later submission has announced itself."""
        latest = max(int(key.removeprefix(_FENCE)) for key in self._store.list(_FENCE))
        if latest > self._submission:
            raise Superseded(
                f"submission {latest} of this variant and seed has taken over at {self._store.location.uri}; "
                f"submission {self._submission} stops without committing anything more"
            )

    def committed(self) -> list[CheckpointManifest]:
        """The manifests of this job, oldest first; another job's and unreadable ones are named in the log."""
        manifests = [self._manifest(key) for key in self._store.list(f"{ROOT}/") if key.endswith(MANIFEST)]
        return sorted((manifest for manifest in manifests if manifest), key=lambda manifest: manifest.age)

    def commit(self, manifest: CheckpointManifest) -> None:
        """Make a checkpoint count: its manifest is the last object written, and only once."""
        self.refuse_if_superseded()
        data = manifest.model_dump_json(indent=1).encode()
        self._store.put(f"{manifest.folder}/{MANIFEST}", data, if_absent=True)

    def delete(self, manifest: CheckpointManifest) -> None:
        """Delete a checkpoint: the manifest first, so that no committed one ever lacks a file."""
        key = f"{manifest.folder}/{MANIFEST}"
        self._store.delete(key)
        self._store.delete(*(f"{manifest.folder}/{file.name}" for file in manifest.files))
        self._read.pop(key, None)

    def _manifest(self, key: str) -> CheckpointManifest | None:
        if key not in self._read:  # a manifest never changes
            self._read[key] = self._load(key)
        return self._read[key]

    def _load(self, key: str) -> CheckpointManifest | None:
        try:
            manifest = CheckpointManifest.model_validate_json(self._store.get(key))
        except ValidationError as error:
            _log.error("checkpoint manifest %s is not readable and is passed over: %s", key, error)
            return None
        if manifest.job_hash != self._job_hash:
            _log.warning("checkpoint %s belongs to another version of the job and is passed over", key)
            return None
        return manifest
