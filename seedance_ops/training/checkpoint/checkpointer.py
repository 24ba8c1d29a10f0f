"""Saves and restores checkpoints across ranks: local disk, then object store, then the manifest."""

from __future__ import annotations

import logging
import shutil
import time
from pathlib import Path
from typing import Any

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import ObjectMissing
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.encoding import publish, read_tree, write_tree
from seedance_ops.training.checkpoint.manifest import (
    ROOT,
    CheckpointFile,
    CheckpointManifest,
    checkpoint_folder,
)
from seedance_ops.training.checkpoint.retention import superfluous
from seedance_ops.training.checkpoint.state import (
    MODEL_FILE,
    OPTIMIZER_FILE,
    Position,
    Restored,
    TrainingState,
    rank_file,
)
from seedance_ops.training.errors import CheckpointError
from seedance_ops.training.metrics.flops import ModelFlops
from seedance_ops.training.metrics.records import CheckpointWriteRecord
from seedance_ops.training.parallel import ProcessGroup
from seedance_ops.training.plan import LaunchPlan

_LOCAL_COPIES = 2

_log = logging.getLogger(__name__)


class Checkpointer:
    """Checkpoints of one submission; every rank calls every method at the same step."""

    def __init__(self, store: ObjectStore, plan: LaunchPlan, group: ProcessGroup, workspace: Path) -> None:
        self._store = store
        self._plan = plan
        self._group = group
        self._workspace = workspace
        self._catalogue = CheckpointCatalogue(store, plan.job_hash, plan.submission)

    def save(self, state: TrainingState, position: Position) -> list[CheckpointWriteRecord]:
        """Write, upload and commit; returns what rank 0 records about it.

        A rank returns when its own files are stored; rank 0 when the checkpoint is committed.
        """
        started = time.perf_counter()
        folder = checkpoint_folder(position.step, self._plan.submission)
        files = []
        for name, tree in state.capture(self._group.rank).items():
            write_tree(self._workspace / folder / name, tree)
            files.append(CheckpointFile.describe(self._workspace / folder / name))
        local_s = time.perf_counter() - started
        for file in files:
            self._store.put_file(f"{folder}/{file.name}", self._workspace / folder / file.name)
        by_rank = self._group.gather(files)  # all files are stored from here on
        self._forget_local(position.step)
        if self._group.rank != 0:
            return []
        manifest = self._describe(position, [file for files in by_rank for file in files])
        self._catalogue.commit(manifest)
        object_s = time.perf_counter() - started - local_s
        self._retire()
        return [
            CheckpointWriteRecord(position.step, "local", manifest.total_bytes, local_s, local_s),
            CheckpointWriteRecord(position.step, "object", manifest.total_bytes, object_s, object_s),
        ]

    def restore(self, state: TrainingState) -> Restored | None:
        """Take up the newest committed checkpoint that verifies on every rank, if there is one."""
        for manifest in self._candidates(state):
            trees, problem = self._fetch(manifest)
            problems = [text for text in self._group.gather(problem) if text]
            if problems:
                _log.error(
                    "checkpoint of step %d is damaged, trying the one before: %s", manifest.step, problems
                )
                continue
            random = state.put_back(trees, self._group.rank)
            if manifest.world_size != self._group.world_size:
                _log.warning(
                    "%d ranks take up what %d wrote: steps take another number of samples from here on, and "
                    "random numbers start afresh",
                    self._group.world_size,
                    manifest.world_size,
                )
            _log.info("resuming after step %d of submission %d", manifest.step, manifest.submission)
            return Restored(_position(manifest), random)
        return None

    def _candidates(self, state: TrainingState) -> list[CheckpointManifest]:
        """What rank 0 finds committed, newest first, the same on every rank."""
        found: list[str] = []
        if self._group.rank == 0:
            self._catalogue.claim()
            found = [manifest.model_dump_json() for manifest in reversed(self._catalogue.committed())]
        manifests = [
            CheckpointManifest.model_validate_json(text) for text in self._group.from_rank_zero(found)
        ]
        for manifest in manifests:
            if manifest.world_size != self._group.world_size and not state.reduction.fits_any_world_size:
                raise CheckpointError(
                    f"the checkpoint of step {manifest.step} was written by {manifest.world_size} ranks, "
                    f"each with what {state.reduction.name} carries, and this submission has "
                    f"{self._group.world_size}: resume with the same number, or start a run whose "
                    "checkpoints any number can take up, with gradient_compression.flush_on_save: true"
                )
        return manifests

    def _fetch(self, manifest: CheckpointManifest) -> tuple[dict[str, Any], str | None]:
        """The trees that this rank needs, or what is wrong with them."""
        trees: dict[str, Any] = {}
        names = [MODEL_FILE, OPTIMIZER_FILE]
        if manifest.world_size == self._group.world_size:
            names.append(rank_file(self._group.rank))
        for name in names:
            try:
                trees[name] = read_tree(self._verified(manifest, name))
            except (CheckpointError, ObjectMissing) as error:
                return {}, f"rank {self._group.rank}: {manifest.folder}/{name}: {error}"
        return trees, None

    def _verified(self, manifest: CheckpointManifest, name: str) -> Path:
        """A file on the local disk whose digest is the manifest's: the local copy, else the store's."""
        file = manifest.file(name)
        if file is None:
            raise CheckpointError("the manifest does not name it")
        path = self._workspace / manifest.folder / name
        if not file.matches(path):
            draft = path.with_name(f".{name}.rank-{self._group.rank}")
            draft.parent.mkdir(parents=True, exist_ok=True)
            self._store.get_file(f"{manifest.folder}/{name}", draft)
            if not file.matches(draft):
                draft.unlink()
                raise CheckpointError(f"the content's SHA-256 is not the manifest's {file.sha256[:12]}…")
            publish(draft, path)
        return path

    def _describe(self, position: Position, files: list[CheckpointFile]) -> CheckpointManifest:
        flops = position.flops
        return CheckpointManifest(
            job_hash=self._plan.job_hash,
            step=position.step,
            samples_seen=position.samples_seen,
            world_size=self._group.world_size,
            submission=self._plan.submission,
            final=position.final,
            train_elapsed_s=position.train_elapsed_s,
            metrics=position.metrics,
            flops_per_sample=flops.per_sample if flops else None,
            flops_method=flops.method if flops else None,
            written_at_s=time.time(),
            files=tuple(files),
        )

    def _retire(self) -> None:
        """Delete what the policy does not keep."""
        for manifest in superfluous(self._catalogue.committed(), self._plan.checkpoint.keep):
            self._catalogue.delete(manifest)

    def _forget_local(self, step: int) -> None:
        """Keep only the newest local copies; every one of them is in the store."""
        if self._group.local_rank == 0:
            folders = sorted((self._workspace / ROOT).glob("step-*"))
            older = [folder for folder in folders if folder.name < f"step-{step:08d}"]
            for folder in older[: max(0, len(older) - (_LOCAL_COPIES - 1))]:
                shutil.rmtree(folder, ignore_errors=True)


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
