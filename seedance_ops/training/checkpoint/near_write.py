"""Writes a staged checkpoint to the node's own tiers, beside training, and commits it there."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from seedance_ops.storage.errors import StorageError
from seedance_ops.strict_model import StrictModel
from seedance_ops.training.checkpoint.board import Board
from seedance_ops.training.checkpoint.file_tier import FileTier
from seedance_ops.training.checkpoint.interval.observation import Pace
from seedance_ops.training.checkpoint.manifest import (
    CheckpointFile,
    CheckpointManifest,
    Writer,
    checkpoint_folder,
)
from seedance_ops.training.checkpoint.state import Position
from seedance_ops.training.metrics.records import CheckpointWriteRecord
from seedance_ops.training.parallel import ProcessGroup
from seedance_ops.training.plan import LaunchPlan

PATIENCE_S = 3600.0
"""For other ranks: one that has died ends training, and with it this wait, long before."""
_NEWEST = 2
"""Checkpoints that stay on a node; should one be damaged there is another."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Staged:
    """A checkpoint in memory."""

    position: Position
    shards: Mapping[str, memoryview]
    """This rank's, by file name."""
    began_s: float
    """Of ``time.perf_counter``."""
    stall_s: float
    """How long training stood still for it."""


class _Report(StrictModel):
    """What one rank has stored, or why not."""

    files: tuple[CheckpointFile, ...] = ()
    error: str | None = None


class _Verdict(StrictModel):
    """What rank 0 makes of all reports."""

    manifest: CheckpointManifest | None = None
    error: str | None = None


@dataclass(frozen=True)
class NearWrite:
    """One checkpoint, as one rank writes it."""

    staged: Staged
    plan: LaunchPlan
    writer: Writer
    group: ProcessGroup
    tiers: Sequence[FileTier]
    board: Board
    pace: Pace
    before: Callable[[], None]
    """Stores this rank's records: no step may be in a checkpoint and in no table."""
    may_commit: Callable[[], None]
    """Raises ``Superseded`` where a later submission has taken over; asked by rank 0."""
    uploading: int | None
    """The step whose files may still be read for an upload."""

    def run(self) -> tuple[CheckpointManifest, list[CheckpointWriteRecord]]:
        """The manifest that is committed on every node; the records are rank 0's.

        Raises:
            StorageError: This rank or another one could not store its part; nothing is committed then.
            Superseded: A later submission has taken over.
        """
        report, failure = self._stored()
        self.board.post(self._key(self.group.rank), report.model_dump_json())
        if self.group.rank == 0:
            self.board.post(self._key("verdict"), self._judged().model_dump_json())
        if failure is not None:
            raise failure
        (told,) = self.board.read([self._key("verdict")], PATIENCE_S)
        verdict = _Verdict.model_validate_json(told)
        if verdict.manifest is None:
            if self.group.rank == 0:
                self.may_commit()  # says itself what is wrong, where that is why
            raise StorageError(f"step {self.staged.position.step}: {verdict.error}")
        if self.group.local_rank == 0:
            for tier in self.tiers:
                self._commit(tier, verdict.manifest)
        return verdict.manifest, self._records(verdict.manifest)

    def _stored(self) -> tuple[_Report, Exception | None]:
        try:
            self.before()
            return _Report(files=self._store()), None
        except Exception as error:  # noqa: BLE001 - others wait for word of it
            failure = error
        if isinstance(failure, OSError):
            where = " and ".join(tier.name for tier in self.tiers)
            failure = StorageError(f"rank {self.group.rank} cannot write a checkpoint ({where}): {failure}")
        return _Report(error=f"rank {self.group.rank}: {failure}"), failure

    def _store(self) -> tuple[CheckpointFile, ...]:
        folder = checkpoint_folder(self.staged.position.step, self.writer)
        shards = self.staged.shards.items()
        with ThreadPoolExecutor(1 + len(shards), "checkpoint") as beside:
            files = beside.map(lambda shard: CheckpointFile.describe(*shard), shards)
            for tier in self.tiers:
                list(beside.map(lambda shard, tier=tier: tier.store(folder, *shard), shards))
            return tuple(files)

    def _judged(self) -> _Verdict:
        try:
            ranks = range(self.group.world_size)
            keys = [self._key(rank) for rank in ranks]
            told = self.board.read(keys, PATIENCE_S)
            self.board.take_down(keys)
            reports = [_Report.model_validate_json(text) for text in told]
            if errors := [report.error for report in reports if report.error]:
                return _Verdict(error="; ".join(errors[:4]))
            self.may_commit()
            return _Verdict(manifest=self._describe(reports))
        except Exception as error:  # noqa: BLE001 - others wait for word of it
            return _Verdict(error=f"{type(error).__name__}: {error}")

    def _describe(self, reports: Sequence[_Report]) -> CheckpointManifest:
        files: dict[str, CheckpointFile] = {}
        for rank, report in enumerate(reports):
            for file in report.files:
                first = files.setdefault(file.name, file)
                if first != file:
                    # Buffers, say, of which DDP takes rank 0's: those count.
                    _log.warning("%s of rank %d is not what the first node has", file.name, rank)
        position = self.staged.position
        flops = position.flops
        return CheckpointManifest(
            job_hash=self.plan.job_hash,
            step=position.step,
            samples_seen=position.samples_seen,
            world_size=self.group.world_size,
            submission=self.writer.submission,
            epoch=self.writer.epoch,
            final=position.final,
            train_elapsed_s=position.train_elapsed_s,
            metrics=position.metrics,
            flops_per_sample=flops.per_sample if flops else None,
            flops_method=flops.method if flops else None,
            pace=self.pace,
            written_at_s=time.time(),
            files=tuple(files.values()),
        )

    def _commit(self, tier: FileTier, manifest: CheckpointManifest) -> None:
        try:
            tier.commit(manifest)
            committed = tier.committed()
            for old in committed[: max(0, len(committed) - _NEWEST)]:
                if old.step != self.uploading:
                    tier.delete(old)
        except OSError as error:
            raise StorageError(f"cannot commit a checkpoint to {tier.name}: {error}") from error

    def _records(self, manifest: CheckpointManifest) -> list[CheckpointWriteRecord]:
        if self.group.rank != 0:
            return []
        write_s = time.perf_counter() - self.staged.began_s
        return [
            CheckpointWriteRecord(
                manifest.step, tier.name, manifest.total_bytes, write_s, self.staged.stall_s
            )
            for tier in self.tiers
        ]

    def _key(self, what: int | str) -> str:
        return f"near/{self.staged.position.step}/{what}"
