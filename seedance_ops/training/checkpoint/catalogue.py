"""The committed checkpoints of one run in the object store: listing, committing, fencing, deleting."""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from uuid import uuid4

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import ObjectExists, ObjectMissing, StorageError
from seedance_ops.training.checkpoint.manifest import (
    MANIFEST,
    ROOT,
    Abandoned,
    CheckpointManifest,
    Writer,
    read_manifest,
)
from seedance_ops.training.errors import CheckpointError, Superseded

_FENCE = f"{ROOT}/fence/"
_NEWEST = f"{ROOT}/newest"
_MANIFEST_KEY = re.compile(rf"{ROOT}/step-\d+/[\w-]+/{re.escape(MANIFEST)}")
_WRITER = re.compile(r"submission-(\d+)(?:-epoch-(\d+))?")
_LOOKS = 3
"""At what a store gives back: it may have been damaged on the way."""
_CLAIMS = 20
"""Others that may start at the same moment."""

_log = logging.getLogger(__name__)


class CheckpointCatalogue:
    """Used by rank 0 only, by one thread at a time."""

    def __init__(self, store: ObjectStore, job_hash: str, submission: int) -> None:
        self._store = store
        self._job_hash = job_hash
        self._submission = submission
        self._read: dict[str, CheckpointManifest | None] = {}
        self._writer = Writer(submission, 0)

    def claim(self) -> Writer:
        """Announce a new writer, and give up what earlier ones have not finished.

        From here on an earlier one may not commit: a later one's fence stands, and where it looked before,
        the key of its manifest is taken.

        Raises:
            Superseded: A later submission has announced itself.
        """
        for _ in range(_CLAIMS):
            latest = self._latest()
            self._writer = Writer(self._submission, 1)
            if latest.submission == self._submission:
                self._writer = Writer(self._submission, latest.epoch + 1)
            self.refuse_if_superseded(latest)
            with suppress(ObjectExists):
                # Only its writer knows the token: an answer that was lost is not taken for another's claim.
                self._store.put(f"{_FENCE}{self._writer}", uuid4().hex.encode(), if_absent=True)
                self._give_up_unfinished()
                return self._writer
        raise StorageError(f"{_CLAIMS} others claim {self._store.location.uri} at the same time")

    def refuse_if_superseded(self, latest: Writer | None = None) -> None:
        """Raise where a later writer has announced itself."""
        latest = latest or self._latest()
        if latest > self._writer:
            raise Superseded(
                f"submission {latest.submission} (start {latest.epoch}) of this variant and seed has taken "
                f"over at {self._store.location.uri}; submission {self._submission} (start "
                f"{self._writer.epoch}) stops without committing anything more"
            )

    def committed(self) -> list[CheckpointManifest]:
        """The manifests of this job, oldest first; another job's and unreadable ones are named in the log."""
        return self._of_keys({key for key in self._store.list(f"{ROOT}/step-") if key.endswith(MANIFEST)})

    def to_resume_from(self) -> list[CheckpointManifest]:
        """The same, for whoever must not miss the newest: a store's listings may lag behind."""
        listed = self.committed()
        try:
            key = self._store.get(_NEWEST).decode("utf-8", "replace")
        except ObjectMissing:
            return listed
        known = {f"{manifest.folder}/{MANIFEST}" for manifest in listed}
        if key in known or not _MANIFEST_KEY.fullmatch(key) or not self._store.exists(key):
            return listed
        _log.warning("the store does not list %s, which is there", key)
        return self._of_keys({*known, key})

    def commit(self, manifest: CheckpointManifest) -> None:
        """Make a checkpoint count: its manifest is the last object written, and only once."""
        self.refuse_if_superseded()
        data = manifest.model_dump_json(indent=1).encode()
        try:
            self._store.put(f"{manifest.folder}/{MANIFEST}", data, if_absent=True)
        except ObjectExists as error:
            self._look_again(manifest, error)
        self._store.put(_NEWEST, f"{manifest.folder}/{MANIFEST}".encode())

    def delete(self, manifest: CheckpointManifest) -> None:
        """Delete a checkpoint: the manifest first, so that no committed one ever lacks a file."""
        key = f"{manifest.folder}/{MANIFEST}"
        self._store.delete(key)
        self._store.delete(*(f"{manifest.folder}/{file.name}" for file in manifest.files))
        self._read.pop(key, None)

    def _give_up_unfinished(self) -> None:
        """Make sure that what was not committed never will be, and delete its shards."""
        folders: dict[str, list[str]] = defaultdict(list)
        for key in self._store.list(f"{ROOT}/step-"):
            folder, _, name = key.rpartition("/")
            folders[folder].append(name)
        for folder, names in folders.items():
            if MANIFEST in names:
                key = f"{folder}/{MANIFEST}"
                shards = names if self._is_abandoned(key) or self._is_torn(key) else []
            else:
                shards = names if self._abandon(folder) else []
            self._store.delete(*(f"{folder}/{name}" for name in shards if name != MANIFEST))

    def _abandon(self, folder: str) -> bool:
        """Whether the checkpoint is given up: not where its writer was faster."""
        document = Abandoned(abandoned_by=str(self._writer)).model_dump_json().encode()
        try:
            self._store.put(f"{folder}/{MANIFEST}", document, if_absent=True)
        except ObjectExists:
            return False
        _log.info("%s was never finished and is given up", folder)
        return True

    def _is_abandoned(self, key: str) -> bool:
        return isinstance(self._standing(key), Abandoned)

    def _look_again(self, manifest: CheckpointManifest, refusal: ObjectExists) -> None:
        """A manifest was refused: raise unless it is our own that stands there, whose answer was lost."""
        self.refuse_if_superseded()
        for _ in range(_LOOKS):
            standing = self._standing(f"{manifest.folder}/{MANIFEST}")
            if standing == manifest:
                return
        if standing is None:
            raise StorageError(
                f"{manifest.folder} is not committed: the store refuses its manifest, and gives back none "
                "that is whole"
            ) from refusal
        raise Superseded(f"somebody else has decided about {manifest.folder}: {refusal}") from refusal

    def _standing(self, key: str) -> CheckpointManifest | Abandoned | None:
        """What stands under a manifest's key, if it is whole at one of some looks."""
        for _ in range(_LOOKS):
            with suppress(CheckpointError, ObjectMissing):
                return read_manifest(self._store.get(key))
        return None

    def _is_torn(self, key: str) -> bool:
        """Whether a manifest is no JSON at all: some stores keep what came before its writer was killed.

        It never counted, and, as its key is taken, never will. One in JSON that is not understood may be a
        later version's.
        """
        try:
            found = {self._store.get(key) for _ in range(_LOOKS)}
            json.loads(found.pop())
        except ValueError:
            return not found  # the same at every look: it was not damaged on the way
        except ObjectMissing:
            return False
        return False

    def _latest(self) -> Writer:
        found = [_WRITER.fullmatch(key.removeprefix(_FENCE)) for key in self._store.list(_FENCE)]
        writers = [Writer(int(each[1]), int(each[2] or 1)) for each in found if each]
        return max(writers, default=Writer(0, 0))

    def _of_keys(self, keys: Iterable[str]) -> list[CheckpointManifest]:
        manifests = [self._manifest(key) for key in keys]
        return sorted((manifest for manifest in manifests if manifest), key=lambda manifest: manifest.age)

    def _manifest(self, key: str) -> CheckpointManifest | None:
        if key not in self._read:  # a manifest never changes
            self._read[key] = self._load(key)
        return self._read[key]

    def _load(self, key: str) -> CheckpointManifest | None:
        manifest = self._standing(key)
        if isinstance(manifest, Abandoned):
            return None
        if manifest is None:
            if not self._is_torn(key):
                _log.error("checkpoint manifest %s is not readable and is passed over", key)
            return None
        if f"{manifest.folder}/{MANIFEST}" != key:
            _log.error("checkpoint manifest %s says that it is %s and is passed over", key, manifest.folder)
            return None
        if manifest.job_hash != self._job_hash:
            _log.warning("checkpoint %s belongs to another version of the job and is passed over", key)
            return None
        return manifest
