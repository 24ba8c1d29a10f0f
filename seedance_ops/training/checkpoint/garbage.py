"""Decides what may be deleted below a training's ``checkpoints/``; what it cannot prove to be waste stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from seedance_ops.storage.listing import UnfinishedUpload
from seedance_ops.training.checkpoint.config import KeepPolicy
from seedance_ops.training.checkpoint.manifest import MANIFEST, CheckpointManifest, Writer
from seedance_ops.training.checkpoint.retention import superfluous
from seedance_ops.training.checkpoint.survey import StoredCheckpoint, Survey, own_key

Kind = Literal["orphan", "given up", "superfluous", "upload"]


@dataclass(frozen=True)
class Waste:
    """What may go together, and why."""

    kind: Kind
    where: str
    """Folder, or the key of an upload."""
    keys: tuple[str, ...]
    """In the order in which they must go."""
    bytes: int | None
    """What is freed; ``None`` where the store does not say."""
    why: str
    upload: UnfinishedUpload | None = None

    @property
    def needs_tombstone(self) -> bool:
        """Whether its manifest's key must be taken first: its writer may be slow, and would still commit."""
        return self.kind == "orphan"


@dataclass(frozen=True)
class Rules:
    """What is asked for."""

    job_hash: str | None
    """Of the job whose checkpoints these are; those of any other stay."""
    keep: KeepPolicy | None
    """Without one every committed checkpoint stays."""
    whole: str | None
    """Folder of the newest checkpoint that was read and verified; it and all newer ones stay. Without one
    every committed checkpoint stays."""
    now_s: float
    """In seconds since 1970."""
    older_than_s: float
    """For uploads and for tombstones."""


def garbage(found: Survey, rules: Rules) -> list[Waste]:
    """Everything that may go.

    Never the newest committed checkpoint, the last verified one or a newer one, anything unfinished of the
    newest writer or of one that has not announced itself, an unreadable manifest with its shards, fences, or
    a key that no writer of checkpoints gives.
    """
    return [
        *(waste for each in found.checkpoints for waste in _leftover(each, found.newest_writer, rules)),
        *_beyond_policy(found, rules),
        *_uploads(found, rules),
    ]


def may_be_superfluous(found: Survey, job_hash: str | None, keep: KeepPolicy | None) -> bool:
    """Whether a policy names anything: only then is it worth reading a checkpoint to verify it."""
    return bool(job_hash and keep and superfluous(_manifests(found, job_hash), keep))


def _leftover(each: StoredCheckpoint, newest: Writer | None, rules: Rules) -> Iterator[Waste]:
    if newest is None or each.writer >= newest:
        return
    shards = tuple(entry.key for entry in each.shards)
    shard_bytes = sum(entry.bytes for entry in each.shards)
    if each.state == "unfinished":
        why = f"never finished, and {newest} has taken over"
        yield Waste("orphan", each.folder, shards, shard_bytes, why)
    elif each.state == "given up" and each.decision is not None:
        old = each.decision.modified_s < rules.now_s - rules.older_than_s
        keys = (*shards, each.decision.key) if old else shards
        if keys:
            freed = shard_bytes + (each.decision.bytes if old else 0)
            yield Waste("given up", each.folder, keys, freed, f"given up when {newest} or another took over")


def _beyond_policy(found: Survey, rules: Rules) -> Iterator[Waste]:
    if rules.job_hash is None or rules.keep is None or rules.whole is None:
        return
    committed = {each.folder: each for each in found.committed(rules.job_hash)}
    source, whole = found.resume_source(rules.job_hash), committed.get(rules.whole)
    if source is None or whole is None:
        return
    for manifest in superfluous(_manifests(found, rules.job_hash), rules.keep):
        each = committed[manifest.folder]
        if each is source or each.age >= whole.age:
            continue
        named = {f"{each.folder}/{file.name}" for file in manifest.files}
        keys = (f"{each.folder}/{MANIFEST}", *(entry.key for entry in each.shards if entry.key in named))
        yield Waste(
            "superfluous", each.folder, keys, each.stored_bytes, "no rule of the keep policy names it"
        )


def _uploads(found: Survey, rules: Rules) -> Iterator[Waste]:
    for upload in found.uploads:
        own = own_key(upload.key)
        if own is None or found.newest_writer is None or own.writer >= found.newest_writer:
            continue
        if upload.begun_s < rules.now_s - rules.older_than_s:
            hours = (rules.now_s - upload.begun_s) / 3600
            why = f"upload begun {hours:.0f} h ago and never completed"
            yield Waste("upload", upload.key, (), None, why, upload)


def _manifests(found: Survey, job_hash: str) -> list[CheckpointManifest]:
    return [each.manifest for each in found.committed(job_hash) if each.manifest is not None]
