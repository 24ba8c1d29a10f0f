"""Real checkpoints of a small model with tied weights, as files of a folder or objects of a store."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.checkpoint.manifest import MANIFEST, CheckpointFile, CheckpointManifest
from seedance_ops.training.checkpoint.state import TrainingState


class TiedModel(nn.Module):
    """An embedding whose weights are the head's too, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(17, 8)
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 17, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.norm(self.embed(tokens)))
        return logits


def trained(seed: int = 0) -> tuple[TiedModel, torch.optim.AdamW]:
    """A model and its optimiser after two steps."""
    torch.manual_seed(seed)
    model = TiedModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randint(0, 17, (5,))).logsumexp(-1).sum().backward()
        optimizer.step()
    return model, optimizer


def shards_of(model: nn.Module, optimizer: torch.optim.Optimizer, world_size: int = 2) -> dict[str, bytes]:
    """What the ranks of a run would write, by file name."""
    reduction: Any = SimpleNamespace(fits_any_world_size=True, state_dict=dict)
    state = TrainingState(model, optimizer, reduction)
    shards = {}
    for rank in range(world_size):
        for name, layout in state.capture(rank, rank, world_size).items():
            data = bytearray(layout.total_bytes)
            layout.stage(memoryview(data))
            shards[name] = bytes(data)
    return shards


def manifest_of(shards: dict[str, bytes], step: int, **changes: Any) -> CheckpointManifest:
    """The manifest that belongs to shards."""
    values: dict[str, Any] = {
        "job_hash": "h" * 64,
        "step": step,
        "samples_seen": step,
        "world_size": sum(name.startswith("rank-") for name in shards),
        "submission": 1,
        "epoch": 1,
        "final": False,
        "train_elapsed_s": 1.0,
        "written_at_s": 1.7e9,
        "files": tuple(CheckpointFile.describe(name, memoryview(data)) for name, data in shards.items()),
        **changes,
    }
    return CheckpointManifest(**values)


def store_checkpoint(store: ObjectStore, shards: dict[str, bytes], manifest: CheckpointManifest) -> None:
    """Put a committed checkpoint in a store, and its writer's fence."""
    for name, data in shards.items():
        store.put(f"{manifest.folder}/{name}", data)
    store.put(f"{manifest.folder}/{MANIFEST}", manifest.model_dump_json().encode())
    store.put(f"checkpoints/fence/{manifest.writer}", b"token")


def write_folder(folder: Path, shards: dict[str, bytes], manifest: CheckpointManifest) -> None:
    """The same, as ``seedance checkpoint pull`` leaves it."""
    folder.mkdir()
    for name, data in shards.items():
        (folder / name).write_bytes(data)
    (folder / MANIFEST).write_text(manifest.model_dump_json())
