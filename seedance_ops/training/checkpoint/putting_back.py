"""Puts a pulled checkpoint back into the object store, as a new writer of the run would."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.manifest import CheckpointManifest
from seedance_ops.training.checkpoint.survey import StoredCheckpoint, Survey, survey
from seedance_ops.training.checkpoint.verifying import Advance
from seedance_ops.training.errors import CheckpointError


@dataclass(frozen=True)
class Overruled:
    """Which refusals somebody has overruled."""

    job_hash: bool = False
    """Another job wrote it: the manifest is rewritten with this run's hash."""
    newer: bool = False
    """Newer ones are committed: they are deleted, after this one is committed."""


@dataclass(frozen=True)
class PutBack:
    """What was done."""

    manifest: CheckpointManifest
    """As it stands now; its writer is new."""
    deleted: tuple[StoredCheckpoint, ...]


def put_back(
    manifest: CheckpointManifest,
    folder: Path,
    store: ObjectStore,
    job_hash: str | None,
    *,
    overruled: Overruled,
    advance: Advance,
) -> PutBack:
    """Upload a verified checkpoint: shards first, the manifest last and only where none stands.

    It claims the run first, as a submission does, and so a training that is still alive stops at its next
    checkpoint ("superseded") and cannot commit a newer one; what it has not finished is given up.

    Args:
        manifest: As pulled.
        folder: Of its shards, which were verified just before.
        store: The training's place.
        job_hash: The run's; ``None`` where only what is stored there can tell.
        overruled: Which refusals do not count.
        advance: Told of every so many bytes.

    Raises:
        CheckpointError: Another job wrote it, or a newer one is committed.
        Superseded: A submission has started meanwhile.
        StorageError: The store does not answer, or refuses.
    """
    found = survey(store)
    manifest = manifest.changed(job_hash=agreed_job_hash(manifest, found, job_hash, overruled))
    newer_than(manifest, found, overruled)
    submission = found.newest_writer.submission if found.newest_writer else 1
    catalogue = CheckpointCatalogue(store, manifest.job_hash, submission)
    writer = catalogue.claim()
    manifest = manifest.changed(submission=writer.submission, epoch=writer.epoch)
    newer = newer_than(manifest, survey(store), overruled)  # of a training that was alive until the claim
    for file in manifest.files:
        _upload(store, f"{manifest.folder}/{file.name}", folder / file.name, file.bytes)
        advance(file.bytes)
    catalogue.commit(manifest)
    for each in newer:
        if each.manifest is not None:
            catalogue.delete(each.manifest)
    return PutBack(manifest, tuple(newer))


def agreed_job_hash(
    manifest: CheckpointManifest, found: Survey, job_hash: str | None, overruled: Overruled
) -> str:
    """The job hash under which the next submission looks for it; raises ``CheckpointError``."""
    if job_hash is None:
        source = found.resume_source(None)
        job_hash = source.manifest.job_hash if source and source.manifest else manifest.job_hash
    if manifest.job_hash != job_hash and not overruled.job_hash:
        raise CheckpointError(
            f"the checkpoint was written by job {manifest.job_hash[:12]}, and the run is of job "
            f"{job_hash[:12]}, which would pass it over. Where you know that model, data and settings fit, "
            "--force job-hash stores it as this run's"
        )
    return job_hash


def newer_than(
    manifest: CheckpointManifest, found: Survey, overruled: Overruled
) -> Sequence[StoredCheckpoint]:
    """The committed ones that the next submission would prefer; raises ``CheckpointError`` for any."""
    newer = [each for each in found.committed(manifest.job_hash) if each.step > manifest.step]
    if newer and not overruled.newer:
        steps = ", ".join(str(each.step) for each in newer[-5:])
        raise CheckpointError(
            f"the run has newer committed checkpoints (step {steps}), and the next submission resumes from "
            f"the newest, not from step {manifest.step}. Pull those that you may need; then --force newer "
            "deletes them once this one is committed"
        )
    return newer


def _upload(store: ObjectStore, key: str, path: Path, size_bytes: int) -> None:
    with path.open("rb") as file:
        if size_bytes == 0:
            store.put(key, b"")
            return
        content = mmap.mmap(file.fileno(), size_bytes, access=mmap.ACCESS_READ)
    data = memoryview(content)
    try:
        store.put_buffer(key, data)
    finally:
        with suppress(BufferError):  # while an error's traceback still holds a part of it
            data.release()
            content.close()
