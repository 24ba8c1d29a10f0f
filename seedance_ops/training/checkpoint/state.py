"""What a checkpoint captures of a running training, and puts back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import nn

from seedance_ops.training.compression.base import GradientReduction
from seedance_ops.training.errors import CheckpointError
from seedance_ops.training.metrics.flops import ModelFlops
from seedance_ops.training.randomness import random_state

MODEL_FILE = "model.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"


@dataclass(frozen=True)
class Position:
    """How far training is at a checkpoint."""

    step: int
    samples_seen: int
    train_elapsed_s: float
    metrics: dict[str, float]
    flops: ModelFlops | None
    final: bool


@dataclass(frozen=True)
class Restored:
    """Where training continues, and with what random numbers."""

    position: Position
    random: dict[str, Any] | None
    """None where another number of ranks wrote the checkpoint: generators are a rank's own."""


class Stateful(Protocol):
    """A scheduler, scaler or the like."""

    def state_dict(self) -> dict[str, Any]:
        """Its state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Take up a state."""


def rank_file(rank: int) -> str:
    """The file of what each rank has of its own."""
    return f"rank-{rank:04d}.safetensors"


@dataclass
class TrainingState:
    """The live objects. The model is the user's own, not its DDP wrapper."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    reduction: GradientReduction
    extra: Mapping[str, Stateful] = field(default_factory=dict)

    def capture(self, rank: int) -> dict[str, Any]:
        """This rank's trees by file name; rank 0 speaks for all in what is the same on every rank."""
        own: dict[str, Any] = {"random": random_state()}
        common: dict[str, Any] = {}
        (common if self.reduction.fits_any_world_size else own)["reduction"] = self.reduction.state_dict()
        trees: dict[str, Any] = {rank_file(rank): own}
        if rank == 0:
            trees[MODEL_FILE] = self.model.state_dict()
            trees[OPTIMIZER_FILE] = common | {
                "optimizer": self.optimizer.state_dict(),
                "extra": {name: stateful.state_dict() for name, stateful in self.extra.items()},
            }
        return trees

    def put_back(self, trees: Mapping[str, Any], rank: int) -> dict[str, Any] | None:
        """Load what ``capture`` gave; returns the state of the random generators, for later.

        Without a tree of this rank's own, where another number of ranks wrote them, it returns ``None``.
        """
        self.model.load_state_dict(trees[MODEL_FILE])
        saved = trees[OPTIMIZER_FILE]
        if missing := set(self.extra) ^ set(saved["extra"]):
            raise CheckpointError(
                f"checkpoint and script differ in what they keep: {', '.join(sorted(missing))}"
            )
        self.optimizer.load_state_dict(saved["optimizer"])
        for name, stateful in self.extra.items():
            stateful.load_state_dict(saved["extra"][name])
        own = trees.get(rank_file(rank), {})
        self.reduction.load_state_dict((saved if "reduction" in saved else own)["reduction"])
        random: dict[str, Any] | None = own.get("random")
        return random
