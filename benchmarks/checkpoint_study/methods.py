"""Ways to write a checkpoint to the local disk: ours, and others as their documentation says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

import safetensors.torch
import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

from checkpoint_study.state import state_dict
from seedance_ops.training.checkpoint.arena import Arena
from seedance_ops.training.checkpoint.background import Background
from seedance_ops.training.checkpoint.board import Board
from seedance_ops.training.checkpoint.file_tier import FileTier
from seedance_ops.training.checkpoint.interval.observation import IntervalState, Pace
from seedance_ops.training.checkpoint.manifest import CheckpointManifest, Writer
from seedance_ops.training.checkpoint.near_write import NearWrite, Staged
from seedance_ops.training.checkpoint.shard_format import ShardContent
from seedance_ops.training.checkpoint.state import Position, TrainingState
from seedance_ops.training.compression.config import DenseConfig
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.parallel import ProcessGroup
from seedance_ops.training.plan import LaunchPlan


class Method(Protocol):
    """One way, used by one process of a group of one."""

    def save(self) -> None:
        """What training waits for."""

    def finished(self) -> bool:
        """Whether it is durable: file and folder synced."""

    def wait(self) -> None:
        """Until it is durable; raises what went wrong."""

    def load(self) -> None:
        """Read all of it into memory, and check it where the method does."""


class Ours:
    """The product's own path to a node's disk: staged in an arena, written and committed beside training."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, folder: Path) -> None:
        self._state = TrainingState(model, optimizer, make_reduction(DenseConfig()))
        self._group = ProcessGroup(0, 1, 0, torch.device("cpu"))
        self._tier = FileTier("local", folder, "benchmark", "hash")
        self._arena, self._board = Arena(pinned=False), Board.open(self._group)
        self._background: Background[CheckpointManifest] = Background("checkpoint")
        self._step = 0
        self._manifest: CheckpointManifest | None = None

    def save(self) -> None:
        """See ``Method``."""
        self._step += 1
        layouts = self._state.capture(0, 0, 1)
        rooms = self._arena.room([layout.total_bytes for layout in layouts.values()])
        for layout, room in zip(layouts.values(), rooms, strict=True):
            layout.stage(room)
        position = Position(self._step, self._step, 0.0, {}, None, final=False)
        staged = Staged(position, dict(zip(layouts, rooms, strict=True)), 0.0, 0.0)
        near = NearWrite(
            staged=staged,
            plan=_PLAN,
            writer=Writer(1, 1),
            group=self._group,
            tiers=[self._tier],
            board=self._board,
            pace=Pace(number=self._step, state=IntervalState(interval_steps=1)),
            before=lambda: None,
            may_commit=lambda: None,
            uploading=None,
        )
        self._background.begin(lambda: near.run()[0])

    def finished(self) -> bool:
        """See ``Method``."""
        return not self._background.busy

    def wait(self) -> None:
        """See ``Method``."""
        self._background.wait()
        if failure := self._background.failure():
            raise failure
        (self._manifest,) = self._background.results()[-1:] or (self._manifest,)

    def load(self) -> None:
        """Read and checked by CRC32C, as a resumption does."""
        assert self._manifest is not None
        rooms = self._arena.room([file.bytes for file in self._manifest.files])
        for file, room in zip(self._manifest.files, rooms, strict=True):
            self._tier.read(self._manifest.folder, file.name, room)
            file.check(room)
            ShardContent.parse(room)


class OneFile:
    """A function that writes one file, synced afterwards, and one that reads it."""

    def __init__(self, file: Path, write: Callable[[Path], object], read: Callable[[Path], object]) -> None:
        self._file, self._write, self._read = file, write, read

    def save(self) -> None:
        """See ``Method``."""
        self._write(self._file)
        _sync(self._file)
        _sync(self._file.parent)

    def finished(self) -> bool:
        """See ``Method``."""
        return True

    def wait(self) -> None:
        """See ``Method``."""

    def load(self) -> None:
        """See ``Method``."""
        self._read(self._file)


class Dcp:
    """torch's distributed checkpoint, which syncs its files."""

    def __init__(self, content: Mapping[str, Any], folder: Path, *, kind: str) -> None:
        self._content, self._folder = dict(content), folder
        self._kind = kind
        self._under_way: Future[Any] | None = None
        shared = StagingOptions(
            use_pinned_memory=False,
            use_shared_memory=True,
            use_async_staging=False,
            use_non_blocking_copy=False,
        )
        self._stager = DefaultStager(shared) if kind == "process" else None

    def save(self) -> None:
        """See ``Method``."""
        shutil.rmtree(self._folder, ignore_errors=True)
        writer = dcp.FileSystemWriter(self._folder, sync_files=True)
        if self._kind == "sync":
            dcp.save(self._content, storage_writer=writer)
            return
        kind = AsyncCheckpointerType.PROCESS if self._kind == "process" else AsyncCheckpointerType.THREAD
        answer = dcp.async_save(
            self._content, storage_writer=writer, async_checkpointer_type=kind, async_stager=self._stager
        )
        self._under_way = answer if isinstance(answer, Future) else answer.upload_completion

    def finished(self) -> bool:
        """See ``Method``."""
        return self._under_way is None or self._under_way.done()

    def wait(self) -> None:
        """See ``Method``."""
        if self._under_way is not None:
            self._under_way.result()

    def load(self) -> None:
        """Into the tensors there are: it has no other way."""
        dcp.load(self._content, storage_reader=dcp.FileSystemReader(self._folder))


OURS = "seedance"
METHODS = (OURS, "torch.save", "safetensors", "dcp_sync", "dcp_async_thread", "dcp_async_process")
ASYNC_PEERS = ("dcp_async_thread", "dcp_async_process")


def make_method(name: str, model: nn.Module, optimizer: torch.optim.Optimizer, folder: Path) -> Method:
    """One of ``METHODS``, in a folder of its own."""
    content = state_dict(model, optimizer)
    match name:
        case "seedance":
            return Ours(model, optimizer, folder)
        case "torch.save":
            return OneFile(
                folder / "state.pt",
                lambda file: torch.save(content, file),
                lambda file: torch.load(file, weights_only=True),
            )
        case "safetensors":
            tensors = dict(_flat(content, "t"))
            return OneFile(
                folder / "state.safetensors",
                lambda file: safetensors.torch.save_file(tensors, file),
                safetensors.torch.load_file,
            )
        case _:
            return Dcp(content, folder / "dcp", kind=name.rpartition("_")[2])


def _flat(value: object, path: str) -> list[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        return [(path, value)]
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in _flat(inner, f"{path}.{key}")]
    return []


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_PLAN = LaunchPlan.model_validate(
    {
        "job": "benchmark",
        "job_hash": "hash",
        "run_id": "r",
        "variant": "v",
        "seed": 0,
        "submission": 1,
        "batch": {"per_rank": 1},
        "stop": {"steps": 1},
        "storage": {"uri": "s3://never-reached/run"},
    }
)
