"""Uploads a checkpoint that is committed on the node to the object store, and commits it there."""

from __future__ import annotations

import time
from dataclasses import dataclass

from seedance_ops.storage.errors import StorageError
from seedance_ops.training.checkpoint.board import Board
from seedance_ops.training.checkpoint.file_tier import FileTier
from seedance_ops.training.checkpoint.manifest import CheckpointManifest, common_file, rank_file
from seedance_ops.training.checkpoint.near_write import PATIENCE_S
from seedance_ops.training.checkpoint.object_tier import ObjectTier
from seedance_ops.training.checkpoint.retention import superfluous
from seedance_ops.training.metrics.records import CheckpointWriteRecord
from seedance_ops.training.parallel import ProcessGroup
from seedance_ops.training.plan import LaunchPlan

_STORED = "stored"


@dataclass(frozen=True)
class FarWrite:
    """One checkpoint, as one rank uploads it: from its files, so that memory is free for the next one."""

    manifest: CheckpointManifest
    plan: LaunchPlan
    group: ProcessGroup
    source: FileTier
    target: ObjectTier
    board: Board

    def run(self) -> list[CheckpointWriteRecord]:
        """Upload, and on rank 0 commit and retire; the records are rank 0's.

        Raises:
            StorageError: This rank, or as rank 0 sees it another one, could not store its part.
            CheckpointError: The files on the node are not what was written there.
            Superseded: A later submission has taken over.
        """
        began_s = time.perf_counter()
        try:
            for name in self._own():
                self._upload(name)
        except Exception as error:
            decline(self.board, self.manifest.step, self.group.rank, error)
            raise
        self.board.post(_key(self.manifest.step, self.group.rank), _STORED)
        if self.group.rank != 0:
            return []
        keys = [_key(self.manifest.step, rank) for rank in range(self.group.world_size)]
        told = self.board.read(keys, PATIENCE_S)
        self.board.take_down(keys)
        if errors := [text for text in told if text != _STORED]:
            raise StorageError(f"step {self.manifest.step}: {'; '.join(errors[:4])}")
        self.target.commit(self.manifest)
        write_s = time.perf_counter() - began_s
        for old in superfluous(self.target.committed(), self.plan.checkpoint.keep):
            self.target.delete(old)
        return [
            CheckpointWriteRecord(
                self.manifest.step, self.target.name, self.manifest.total_bytes, write_s, 0.0
            )
        ]

    def _own(self) -> list[str]:
        """What ranks have alike is uploaded by the first node's alone."""
        names = [rank_file(self.group.rank)]
        common = common_file(self.group.rank)
        return [common, *names] if self.manifest.file(common) else names

    def _upload(self, name: str) -> None:
        file = self.manifest.file(name)
        assert file is not None, name
        with self.source.view(self.manifest.folder, name) as data:
            file.check(data)
            self.target.store(self.manifest.folder, name, data)


def decline(board: Board, step: int, rank: int, why: Exception) -> None:
    """Say that a rank has nothing to upload, so that rank 0 does not wait for it."""
    board.post(_key(step, rank), f"rank {rank}: {why}")


def _key(step: int, rank: int) -> str:
    return f"far/{step}/{rank}"
