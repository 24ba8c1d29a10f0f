"""Checkpoints of one submission: staged while training waits, written, uploaded and committed beside it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import NamedTuple

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import StorageError
from seedance_ops.training.checkpoint.arena import Arena
from seedance_ops.training.checkpoint.background import Background
from seedance_ops.training.checkpoint.board import Board
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.far_write import FarWrite, decline
from seedance_ops.training.checkpoint.interval.disk_counters import KernelCounters
from seedance_ops.training.checkpoint.interval.pacing import Pacing, Proposal
from seedance_ops.training.checkpoint.interval.sampling import Sampler
from seedance_ops.training.checkpoint.manifest import Writer
from seedance_ops.training.checkpoint.near_write import NearWrite, Staged
from seedance_ops.training.checkpoint.object_tier import ObjectTier
from seedance_ops.training.checkpoint.places import Places
from seedance_ops.training.checkpoint.restoring import Restoring
from seedance_ops.training.checkpoint.state import Position, Restored, TrainingState
from seedance_ops.training.errors import Superseded, TrainingError
from seedance_ops.training.metrics.records import CheckpointIntervalRecord, CheckpointWriteRecord, StepRecord
from seedance_ops.training.parallel import ProcessGroup
from seedance_ops.training.plan import LaunchPlan

_LEAVING_S = 10.0
"""For what is under way when training is told to end: a grace period is often thirty seconds."""

_log = logging.getLogger(__name__)


class _Agreed(NamedTuple):
    """What all ranks have told each other."""

    near_busy: bool
    """Whether any still writes to its node."""
    far_busy: bool
    """The same of the object store."""
    proposal: Proposal | None
    """Rank 0's, where it made one."""


class Checkpointer:
    """Every rank calls every method at the same step."""

    def __init__(
        self,
        store: ObjectStore,
        plan: LaunchPlan,
        group: ProcessGroup,
        places: Callable[[ObjectTier], Places],
    ) -> None:
        """Nothing is read or written yet.

        Args:
            store: The run's place, with a count of its own: what it sends is checkpoints' alone.
            plan: What is asked for.
            group: The ranks.
            places: The tiers, with that of the object store.
        """
        self._plan, self._group = plan, group
        self._catalogue = CheckpointCatalogue(store, plan.job_hash, plan.submission)
        self._places = places(ObjectTier(store, self._catalogue))
        self._pacing = Pacing(plan.checkpoint, group.rank)
        self._arena = Arena(pinned=group.device.type == "cuda")
        self._near: Background[list[CheckpointWriteRecord]] = Background("checkpoint-near")
        self._far: Background[list[CheckpointWriteRecord]] = Background("checkpoint-far")
        self._committed: list[CheckpointWriteRecord] = []
        self._boards: tuple[Board, Board] | None = None
        self._shared_by: int | None = None
        self._uploading: int | None = None
        self._writer = Writer(plan.submission, 0)
        self.skipped = 0
        """Checkpoints that were due while the one before was still being written."""

    def restore(self, state: TrainingState) -> Restored | None:
        """Take up the newest committed checkpoint that verifies on every rank, if there is one."""
        restoring = Restoring(self._plan, self._group, self._places, self._catalogue, self._arena)
        self._writer, restored = restoring.restore(state)
        if restored is not None:
            self._pacing.resume(restored.position.step, restored.pace)
        if self._pacing.adapts:
            self._watch_disk()
        return restored

    def due(self, step: int) -> bool:
        """Whether ``save`` is to be called after this step; the same on all ranks, without asking them."""
        return self._pacing.due(step)

    def observe(self, record: StepRecord) -> None:
        """A step is over; what checkpoints cost shows in it."""
        stall_s = record.checkpoint_stall_s
        writing = self._near.busy or self._far.busy
        self._pacing.step(record.step_time_s - stall_s, stall_s, writing=writing)

    def save(self, state: TrainingState, position: Position, before: Callable[[], None]) -> bool:
        """Stage a checkpoint and begin to write it; whether that was done.

        Where the interval adapts, rank 0 may postpone it. It is skipped where any rank still writes the one
        before; the last one waits for that instead, and is committed when this returns.

        Args:
            state: What is captured.
            position: How far training is.
            before: Called beside training, before anything may count: it stores this rank's records.

        Raises:
            TrainingError: A later submission has taken over, or, unless the job says to go on, a checkpoint
                could not be written; on every rank.
            StorageError: As above.
        """
        if position.final:
            self._near.wait()
            self._far.wait()
        self._collect()
        agreed = self._agreed(None if position.final else self._pacing.propose(position.step))
        if agreed.proposal is not None:
            outcome = self._pacing.follow(agreed.proposal, free=not agreed.near_busy)
            if outcome == "postponed":
                return False
        if agreed.near_busy:
            self.skipped += 1
            if self._group.rank == 0:
                _log.warning("step %d: no checkpoint, the one before is still being written", position.step)
            return False
        self._begin(state, position, before, far_is_free=not agreed.far_busy)
        if position.final:
            self.settle()
        return True

    def settle(self) -> None:
        """Wait for what is under way; raises as ``save`` does."""
        self._near.wait()
        self._far.wait()
        self._agreed()

    def records(self) -> list[CheckpointWriteRecord]:
        """What was committed since the last call; of rank 0."""
        self._collect()
        committed, self._committed = self._committed, []
        return committed

    def decisions(self) -> list[CheckpointIntervalRecord]:
        """On the interval, since the last call; of rank 0."""
        return self._pacing.rows()

    def clear(self) -> None:
        """Delete what lies on the node: the last checkpoint is in the object store."""
        if self._group.local_rank == 0:
            for tier in self._places.near:
                tier.clear()

    def close(self, *, hurry: bool) -> None:
        """Begin nothing more; what is under way may end, unless other ranks are gone already."""
        self._pacing.close()
        if hurry:
            for board in self._boards or ():
                board.close()
        deadline = time.monotonic() + _LEAVING_S
        for background in (self._near, self._far):
            background.close(max(0.0, deadline - time.monotonic()))

    def _watch_disk(self) -> None:
        """On rank 0: the disk of its node's tier, and what the ranks of that node write to it."""
        pids = self._group.gather(os.getpid())[: self._group.local_world_size]
        disks = [tier.root for tier in self._places.near if tier.name == "local"]
        if self._group.rank == 0 and disks:
            self._pacing.watch(Sampler(KernelCounters(disks[0], pids)))

    def _collect(self) -> None:
        """Hear of what was committed: a decision counts with how long that took."""
        new = [
            record
            for background in (self._near, self._far)
            for each in background.results()
            for record in each
        ]
        self._pacing.committed(new)
        self._committed += new

    def _agreed(self, proposal: Proposal | None = None) -> _Agreed:
        """Hear of all ranks; raises what any has met."""
        failures = [each for each in (self._near.failure(), self._far.failure()) if each is not None]
        mine = _Agreed(self._near.busy, self._far.busy, proposal)
        told = self._group.gather((mine, [_portable(each) for each in failures]))
        for rank, (_, met) in enumerate(told):
            for failure in met:
                if self._plan.checkpoint.on_failure == "stop" or isinstance(failure, Superseded):
                    raise failure
                if self._group.rank == 0:
                    _log.error(
                        "a checkpoint could not be written by rank %d, training goes on: %s", rank, failure
                    )
        ranks = [each for each, _ in told]
        return _Agreed(
            any(each.near_busy for each in ranks), any(each.far_busy for each in ranks), ranks[0].proposal
        )

    def _begin(
        self, state: TrainingState, position: Position, before: Callable[[], None], *, far_is_free: bool
    ) -> None:
        number = self._pacing.begin(position.step)
        far = self._places.is_far(number, final=position.final)
        if far and not far_is_free and self._group.rank == 0:
            _log.warning("step %d: not to the object store, the last upload is under way", position.step)
        began_s = time.perf_counter()
        pieces = self._pieces()
        layouts = state.capture(self._group.rank, self._group.local_rank, pieces)
        rooms = self._arena.room([layout.total_bytes for layout in layouts.values()])
        for layout, room in zip(layouts.values(), rooms, strict=True):
            layout.stage(room)
        staged = Staged(
            position, dict(zip(layouts, rooms, strict=True)), began_s, time.perf_counter() - began_s
        )
        near_board, far_board = self._open_boards()
        uploads = far and far_is_free
        near = NearWrite(
            staged=staged,
            plan=self._plan,
            writer=self._writer,
            group=self._group,
            tiers=self._places.near_of(number, final=position.final),
            board=near_board,
            pace=self._pacing.pace,
            before=before,
            may_commit=self._catalogue.refuse_if_superseded,
            uploading=self._uploading,
        )

        def work() -> list[CheckpointWriteRecord]:
            try:
                manifest, records = near.run()
            except Exception as error:
                if uploads:
                    decline(far_board, position.step, self._group.rank, error)
                raise
            if uploads:
                self._far.begin(
                    FarWrite(
                        manifest, self._plan, self._group, near.tiers[-1], self._places.object, far_board
                    ).run
                )
            return records

        if uploads:
            self._uploading = position.step
        self._near.begin(work)

    def _pieces(self) -> int:
        """Ranks of a node that share what all have alike; one where nodes differ in their ranks."""
        if self._shared_by is None:
            counts = set(self._group.gather(self._group.local_world_size))
            self._shared_by = counts.pop() if len(counts) == 1 else 1
        return self._shared_by

    def _open_boards(self) -> tuple[Board, Board]:
        if self._boards is None:
            self._boards = (Board.open(self._group), Board.open(self._group))
        return self._boards


def _portable(failure: Exception) -> Exception:
    """The failure as other ranks can have it: one of this package's errors, with its message."""
    if isinstance(failure, TrainingError | StorageError):
        return failure
    return StorageError(f"{type(failure).__name__}: {failure}")
