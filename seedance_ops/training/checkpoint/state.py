"""What a checkpoint captures of a running training, and puts back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import nn

from seedance_ops.training.checkpoint.interval.observation import Pace
from seedance_ops.training.checkpoint.manifest import common_file, rank_file
from seedance_ops.training.checkpoint.outline import Outline, assemble
from seedance_ops.training.checkpoint.shard_format import ShardContent, ShardLayout
from seedance_ops.training.compression.base import GradientReduction
from seedance_ops.training.errors import CheckpointError
from seedance_ops.training.metrics.flops import ModelFlops
from seedance_ops.training.randomness import random_state

_COMMON = "common"


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
    is_far: bool
    """Whether the object store has it."""
    pace: Pace | None
    """Its number and interval; absent in those of earlier versions."""


class Stateful(Protocol):
    """A scheduler, scaler or the like."""

    def state_dict(self) -> dict[str, Any]:
        """Its state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Take up a state."""


@dataclass
class TrainingState:
    """The live objects. The model is the user's own, not its DDP wrapper."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    reduction: GradientReduction
    extra: Mapping[str, Stateful] = field(default_factory=dict)

    def capture(self, rank: int, piece: int, pieces: int) -> dict[str, ShardLayout]:
        """What this rank writes, by file name; nothing is copied yet.

        Args:
            rank: Of this process, for what it has of its own.
            piece: Which part of what all ranks have alike it writes.
            pieces: Ranks that share that work.

        Raises:
            CheckpointError: Something cannot be kept, with its path.
        """
        own: dict[str, Any] = {"random": random_state()}
        common: dict[str, Any] = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "extra": {name: stateful.state_dict() for name, stateful in self.extra.items()},
        }
        (common if self.reduction.fits_any_world_size else own)["reduction"] = self.reduction.state_dict()
        everything, mine = Outline.of(common, _COMMON), Outline.of(own, f"rank-{rank}")
        shards = {rank_file(rank): ShardLayout.plan(mine.tensors, mine.tree)}
        if piece < pieces:
            shared = self._shares(everything.tensors, pieces)[piece]
            tree = everything.tree if piece == 0 else None
            shards[common_file(piece)] = ShardLayout.plan(shared, tree)
        return shards

    def put_back(self, common: Sequence[ShardContent], own: ShardContent | None) -> dict[str, Any] | None:
        """Load what ``capture`` gave; returns the state of the random generators, for later.

        Args:
            common: All pieces of what ranks have alike, in order.
            own: This rank's, or ``None`` where another number of ranks wrote them: ``None`` is returned then.

        Raises:
            CheckpointError: The shards do not fit together, or not to this training.
        """
        tensors = {name: tensor for piece in common for name, tensor in piece.tensors.items()}

        def tensor(name: str) -> torch.Tensor:
            # A model copies what it loads; an optimiser keeps it, and the buffer is used again.
            return tensors[name] if name.startswith(f"{_COMMON}.model.") else tensors[name].clone()

        saved = _mapping(assemble(common[0].tree, tensor))
        if set(saved) - {"reduction"} != {"model", "optimizer", "extra"}:
            raise CheckpointError(f"it holds {', '.join(map(str, saved))}")
        rank = _mapping(assemble(own.tree, lambda name: own.tensors[name].clone())) if own else {}
        if missing := set(self.extra) ^ set(saved["extra"]):
            raise CheckpointError(
                f"checkpoint and script differ in what they keep: {', '.join(sorted(missing))}"
            )
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        for name, stateful in self.extra.items():
            stateful.load_state_dict(saved["extra"][name])
        self.reduction.load_state_dict((saved if "reduction" in saved else rank)["reduction"])
        random: dict[str, Any] | None = rank.get("random")
        return random

    def _shares(self, tensors: Mapping[str, torch.Tensor], pieces: int) -> list[dict[str, torch.Tensor]]:
        """What each of some ranks writes, of about the same size, the same on every rank.

        Only what is the same to the bit on all of them is divided: parameters, and what the optimiser keeps.
        Buffers, which DDP takes from rank 0 in the next forward pass, are the first one's.
        """
        divided = {f"{_COMMON}.model.{name}" for name, _ in self.model.named_parameters()}
        shares: list[dict[str, torch.Tensor]] = [{} for _ in range(pieces)]
        sizes = [0] * pieces
        for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].nbytes, item[0])):
            alike = name in divided or name.startswith(f"{_COMMON}.optimizer.")
            piece = sizes.index(min(sizes)) if alike else 0
            shares[piece][name] = tensor
            sizes[piece] += tensor.nbytes
        return shares


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CheckpointError("its content is no mapping")
    return value
