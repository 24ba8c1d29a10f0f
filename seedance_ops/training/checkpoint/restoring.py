"""Takes up the newest committed checkpoint from the nearest tier that has it whole, on all ranks alike."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seedance_ops.storage.errors import StorageError
from seedance_ops.training.checkpoint.arena import Arena
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.manifest import CheckpointFile, CheckpointManifest, Writer, rank_file
from seedance_ops.training.checkpoint.places import Places
from seedance_ops.training.checkpoint.shard_format import ShardContent
from seedance_ops.training.checkpoint.state import Position, Restored, TrainingState
from seedance_ops.training.checkpoint.tier import Tier
from seedance_ops.training.errors import CheckpointError
from seedance_ops.training.metrics.flops import ModelFlops
from seedance_ops.training.parallel import ProcessGroup
from seedance_ops.training.plan import LaunchPlan

_READS = 2
"""Of a shard from each tier: it may be damaged on the way alone."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Restoring:
    """One resumption; every rank calls it."""

    plan: LaunchPlan
    group: ProcessGroup
    places: Places
    catalogue: CheckpointCatalogue
    arena: Arena

    def restore(self, state: TrainingState) -> tuple[Writer, Restored | None]:
        """Claim the run, and take up the newest that verifies on every rank, if there is one.

        Raises:
            CheckpointError: There is one, and this number of ranks cannot take it up.
            Superseded: A later submission has taken over.
            StorageError: The object store does not answer, or refuses.
        """
        writer, candidates = self._claimed()
        for manifest, is_far in candidates:
            self._refuse_other_ranks(manifest, state)
            read = self._read(manifest)
            problems = [text for text in self.group.gather(read if isinstance(read, str) else None) if text]
            if problems:
                _log.error(
                    "checkpoint of step %d is damaged, trying the one before: %s",
                    manifest.step,
                    "; ".join(problems),
                )
                continue
            assert not isinstance(read, str)
            common, own = read
            random = state.put_back(common, own)
            if own is None:
                _log.warning(
                    "%d ranks take up what %d wrote: steps take another number of samples from here on, and "
                    "random numbers start afresh",
                    self.group.world_size,
                    manifest.world_size,
                )
            if self.group.rank == 0:
                print(
                    f"seedance: resuming after step {manifest.step} of submission {manifest.submission}",
                    file=sys.stderr,
                    flush=True,
                )
            return writer, Restored(_position(manifest), random, is_far, manifest.pace)
        return writer, None

    def _claimed(self) -> tuple[Writer, list[tuple[CheckpointManifest, bool]]]:
        """Who writes from here on, and what is committed, newest first, alike on all ranks.

        With each, whether the object store has it.
        """
        writer, far = Writer(self.plan.submission, 0), list[CheckpointManifest]()
        if self.group.rank == 0:
            writer, far = self.catalogue.claim(), self.catalogue.to_resume_from()
        if self.group.local_rank == 0:
            for tier in self.places.near:
                tier.sweep()
        # Also a barrier: nobody reads what is being swept.
        writer, far = self.group.from_rank_zero((writer, far))
        near = self.group.gather(
            {each.folder: each for tier in self.places.near for each in tier.committed()}
        )
        found = {each.folder: (each, True) for each in far}
        for folder, manifest in near[0].items():
            if all(manifests.get(folder) == manifest for manifests in near):
                found.setdefault(folder, (manifest, False))
        return writer, sorted(found.values(), key=lambda each: each[0].age, reverse=True)

    def _refuse_other_ranks(self, manifest: CheckpointManifest, state: TrainingState) -> None:
        if manifest.world_size != self.group.world_size and not state.reduction.fits_any_world_size:
            raise CheckpointError(
                f"the checkpoint of step {manifest.step} was written by {manifest.world_size} ranks, "
                f"each with what {state.reduction.name} carries, and this submission has "
                f"{self.group.world_size}: resume with the same number, or start a run whose "
                "checkpoints any number can take up, with gradient_compression.flush_on_save: true"
            )

    def _read(self, manifest: CheckpointManifest) -> tuple[list[ShardContent], ShardContent | None] | str:
        """The shards that this rank needs, or what is wrong with them."""
        files = list(manifest.common)
        own = manifest.file(rank_file(self.group.rank))
        takes_own = manifest.world_size == self.group.world_size
        if not files or (takes_own and own is None):
            return f"rank {self.group.rank}: {manifest.folder}: its manifest does not name what is needed"
        if takes_own and own is not None:
            files.append(own)
        try:
            tiers = {file.name: self._holders(manifest, file) for file in files}
            rooms = self.arena.room([file.bytes for file in files])
            for file, room in zip(files, rooms, strict=True):
                self._fill(manifest, file, tiers[file.name], room)
            contents = [ShardContent.parse(room) for room in rooms]
        except (CheckpointError, MemoryError) as error:
            return f"rank {self.group.rank}: {error}"
        return (contents[:-1], contents[-1]) if takes_own else (contents, None)

    def _holders(self, manifest: CheckpointManifest, file: CheckpointFile) -> Sequence[Tier]:
        """The tiers that have a shard of that size, nearest first: before memory is taken for it."""
        tiers: tuple[Tier, ...] = (*self.places.near, self.places.object)
        found = [tier for tier in tiers if tier.size(manifest.folder, file.name) == file.bytes]
        if not found:
            raise CheckpointError(f"{manifest.folder}/{file.name}: no tier has it, of {file.bytes} bytes")
        return found

    def _fill(
        self, manifest: CheckpointManifest, file: CheckpointFile, tiers: Sequence[Tier], room: memoryview
    ) -> None:
        problems: dict[Tier, str] = {}
        for tier in [tier for tier in tiers for _ in range(_READS)]:
            try:
                tier.read(manifest.folder, file.name, room)
                file.check(room)
            except (CheckpointError, OSError) as error:
                problems[tier] = f"{manifest.folder}/{file.name} in {tier.name}: {error}"
                continue
            problems.pop(tier, None)
            self._repair(manifest, file, problems, room)
            return
        raise CheckpointError("; ".join(problems.values()))

    def _repair(
        self,
        manifest: CheckpointManifest,
        file: CheckpointFile,
        problems: Mapping[Tier, str],
        room: memoryview,
    ) -> None:
        """Write what was read whole over the node's damaged copy; one rank of the node does it."""
        if file.name != rank_file(self.group.rank) and self.group.local_rank != 0:
            return
        for tier, problem in problems.items():
            _log.error("%s; another tier has it whole", problem)
            try:
                tier.store(manifest.folder, file.name, room)
            except (OSError, StorageError) as error:
                _log.error("%s/%s in %s stays damaged: %s", manifest.folder, file.name, tier.name, error)


def _position(manifest: CheckpointManifest) -> Position:
    flops = None
    if manifest.flops_per_sample is not None and manifest.flops_method is not None:
        flops = ModelFlops(manifest.flops_per_sample, manifest.flops_method)
    return Position(
        step=manifest.step,
        samples_seen=manifest.samples_seen,
        train_elapsed_s=manifest.train_elapsed_s,
        metrics=manifest.metrics,
        flops=flops,
        final=manifest.final,
    )
