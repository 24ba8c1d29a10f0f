"""Everything below a training's ``checkpoints/`` in the object store, told apart; changes nothing there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import ObjectMissing
from seedance_ops.storage.listing import ObjectEntry, UnfinishedUpload
from seedance_ops.training.checkpoint.manifest import (
    LARGEST_MANIFEST_BYTES,
    MANIFEST,
    ROOT,
    CheckpointManifest,
    Writer,
    checkpoint_folder,
    read_manifest,
)
from seedance_ops.training.errors import CheckpointError

State = Literal["committed", "unfinished", "given up", "unreadable"]

_FENCE = re.compile(rf"{ROOT}/fence/submission-(\d{{3,9}})(?:-epoch-(\d{{3,9}}))?")
_OWN = re.compile(
    rf"{ROOT}/step-(\d{{8,18}})/submission-(\d{{3,9}})-epoch-(\d{{3,9}})/"
    r"(manifest\.json|(?:common|rank)-[0-9]{4,8}\.safetensors)"
)


class OwnKey(NamedTuple):
    """A key that only a checkpoint's writer gives."""

    step: int
    writer: Writer
    name: str

    @property
    def folder(self) -> str:
        """Of its checkpoint."""
        return checkpoint_folder(self.step, self.writer)


def own_key(key: str) -> OwnKey | None:
    """What a key says, or ``None`` for one that no writer of checkpoints gives."""
    match = _OWN.fullmatch(key)
    if match is None:
        return None
    own = OwnKey(int(match[1]), Writer(int(match[2]), int(match[3])), match[4])
    return own if f"{own.folder}/{own.name}" == key else None


@dataclass(frozen=True)
class StoredCheckpoint:
    """One checkpoint's folder, whatever has become of it."""

    step: int
    writer: Writer
    state: State
    shards: tuple[ObjectEntry, ...]
    """Keys relative to the training's place, sorted."""
    manifest: CheckpointManifest | None
    """Of a committed one."""
    decision: ObjectEntry | None
    """What stands under the manifest's key."""
    problem: str | None = None
    """Why it is unreadable."""

    @property
    def folder(self) -> str:
        """Relative to the training's place."""
        return checkpoint_folder(self.step, self.writer)

    @property
    def age(self) -> tuple[int, Writer]:
        """Sorts checkpoints from old to new."""
        return self.step, self.writer

    @property
    def stored_bytes(self) -> int:
        """Of all its objects."""
        return sum(entry.bytes for entry in (*self.shards, *((self.decision,) if self.decision else ())))


@dataclass(frozen=True)
class Survey:
    """One training's place."""

    checkpoints: tuple[StoredCheckpoint, ...]
    """Oldest first."""
    newest_writer: Writer | None
    """The latest that has announced itself; it may be alive."""
    unknown: tuple[str, ...]
    """Keys that no writer of checkpoints of this version gives."""
    uploads: tuple[UnfinishedUpload, ...] = ()

    def committed(self, job_hash: str | None) -> list[StoredCheckpoint]:
        """Those of a job, or of any, oldest first."""
        return [
            each
            for each in self.checkpoints
            if each.manifest is not None and job_hash in (None, each.manifest.job_hash)
        ]

    def resume_source(self, job_hash: str | None) -> StoredCheckpoint | None:
        """What the next submission of the job takes up, where no node has a newer one."""
        return max(self.committed(job_hash), key=lambda each: each.age, default=None)


def survey(store: ObjectStore, *, with_uploads: bool = False) -> Survey:
    """List a training's place and read every manifest.

    Args:
        store: The place.
        with_uploads: Whether unfinished uploads are listed too: some stores need another permission for it.

    Raises:
        StorageError: The store does not answer, or refuses.
    """
    folders: dict[OwnKey, list[tuple[OwnKey, ObjectEntry]]] = defaultdict(list)
    unknown, writers = list[str](), list[Writer]()
    for entry in store.entries(f"{ROOT}/"):
        own, fence = own_key(entry.key), _FENCE.fullmatch(entry.key)
        if own is not None:
            folders[own._replace(name="")].append((own, entry))
        elif fence is not None:
            writers.append(Writer(int(fence[1]), int(fence[2] or 1)))
        else:
            unknown.append(entry.key)
    return Survey(
        checkpoints=tuple(
            _checkpoint(store, folder, {own.name: entry for own, entry in files})
            for folder, files in sorted(folders.items())
        ),
        newest_writer=max(writers, default=None),
        unknown=tuple(unknown),
        uploads=tuple(store.unfinished_uploads(f"{ROOT}/")) if with_uploads else (),
    )


def raw_manifest(store: ObjectStore, folder: str, size_bytes: int) -> bytes:
    """The bytes of a manifest, unless they are too many; raises ``CheckpointError``, ``ObjectMissing``."""
    if size_bytes > LARGEST_MANIFEST_BYTES:
        raise CheckpointError(f"its manifest has {size_bytes} bytes: more than any checkpoint needs")
    return store.get(f"{folder}/{MANIFEST}")


def missing_parts(manifest: CheckpointManifest) -> Sequence[str]:
    """What a manifest ought to name and does not."""
    own = [file.name for file in manifest.files if file.name.startswith("rank-")]
    problems = [] if manifest.common else ["it names no common-….safetensors"]
    if len(own) != manifest.world_size:
        problems.append(f"it names {len(own)} rank-….safetensors for {manifest.world_size} ranks")
    return problems


def _checkpoint(store: ObjectStore, key: OwnKey, files: Mapping[str, ObjectEntry]) -> StoredCheckpoint:
    decision = files.get(MANIFEST)
    shards = tuple(entry for name, entry in sorted(files.items()) if name != MANIFEST)

    def found(
        state: State, manifest: CheckpointManifest | None = None, problem: str | None = None
    ) -> StoredCheckpoint:
        return StoredCheckpoint(key.step, key.writer, state, shards, manifest, decision, problem)

    if decision is None:
        return found("unfinished")
    try:
        document = read_manifest(raw_manifest(store, key.folder, decision.bytes))
    except ObjectMissing:
        return found("unreadable", problem="its manifest was deleted while this was read; try again")
    except CheckpointError as error:
        return found("unreadable", problem=str(error))
    if not isinstance(document, CheckpointManifest):
        return found("given up")
    if document.folder != key.folder:
        return found("unreadable", problem=f"its manifest says that it is {document.folder[:100]}")
    return found("committed", document)


def newest(checkpoints: Iterable[StoredCheckpoint], step: int | None = None) -> StoredCheckpoint | None:
    """The newest of them, or the newest of one step."""
    chosen = [each for each in checkpoints if step in (None, each.step)]
    return max(chosen, key=lambda each: each.age, default=None)
