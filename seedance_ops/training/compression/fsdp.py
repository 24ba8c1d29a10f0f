"""Averages the shards of a model under FSDP2 across its replicas, in ``FSDPModule.set_all_reduce_hook``.

FSDP has averaged a module's gradients over the ranks of a shard mesh when it calls the hook, and gives it
this rank's shards of them, flat: one parameter after the other, each padded to the size of the largest
shard. So what is left is an average over the ranks that hold the same shards: a bucket like one of DDP's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup

from seedance_ops.training.compression.hook import MeasuredReduction
from seedance_ops.training.compression.replicas import ShardedModule


@dataclass(frozen=True)
class ShardBucket:
    """This rank's shards of one module's gradients; a ``Bucket``."""

    order: int
    flat: torch.Tensor
    """The shards without their padding."""
    shards: Sequence[torch.Tensor]
    """Views into ``flat``, each of its shard's shape: a row shard of a matrix is a matrix."""
    owners: Sequence[torch.Tensor]

    def index(self) -> int:
        """Position in the backward pass, from 0."""
        return self.order

    def buffer(self) -> torch.Tensor:
        """All shards, flat."""
        return self.flat

    def gradients(self) -> list[torch.Tensor]:
        """One for each parameter."""
        return list(self.shards)

    def parameters(self) -> list[torch.Tensor]:
        """The sharded parameters."""
        return list(self.owners)


@dataclass(frozen=True)
class ShardPlace:
    """How one parameter's shard lies in the flat gradient."""

    shape: torch.Size
    """Of this rank's shard: the last ranks may have fewer rows than the others, or none."""
    padded: int
    """Elements until the next parameter's."""


def shard_views(flat: torch.Tensor, places: Sequence[ShardPlace]) -> list[torch.Tensor]:
    """Each parameter's shard, as a view into ``flat``; raises ``RuntimeError`` where they do not fill it."""
    expected = sum(place.padded for place in places)
    if expected != flat.numel():
        raise RuntimeError(
            f"a module's flat gradient has {flat.numel()} elements, its parameters' shards have {expected}: "
            "a parameter took no part in the forward pass on this rank"
        )
    pieces = torch.split(flat, [place.padded for place in places])
    return [
        piece[: place.shape.numel()].view(place.shape) for piece, place in zip(pieces, places, strict=True)
    ]


@dataclass
class ShardAveraging:
    """The hooks of all modules of one model."""

    measured: MeasuredReduction
    _seen: list[FSDPParamGroup] = field(default_factory=list)
    """Whose gradients the backward pass under way has brought."""

    def attach(self, sharded: Sequence[ShardedModule]) -> None:
        """Set the hooks; from here on every backward pass averages across replicas.

        A parameter that has no gradient on some rank counts as having one of zeros, since the others wait
        for its average.
        """
        for each in sharded:
            each.module.set_reduce_scatter_unused_params(True, recurse=False)
            each.module.set_all_reduce_hook(self._hook(each.parameters))

    def _hook(self, group: FSDPParamGroup) -> Callable[[torch.Tensor], None]:
        def average(flat: torch.Tensor) -> None:
            with torch.no_grad():
                self._average(group, flat)

        return average

    def _average(self, group: FSDPParamGroup, flat: torch.Tensor) -> None:
        trained = [each for each in group.fsdp_params if each.sharded_param.requires_grad]
        places = [ShardPlace(each.sharded_size, each.padded_sharded_param_size.numel()) for each in trained]
        views = shard_views(flat, places)
        if not any(view.numel() for view in views):
            return  # as on every replica
        if flat.is_cuda:  # allocated on the reduce-scatter's stream, which does not wait for this one
            flat.record_stream(torch.cuda.current_stream(flat.device))
        padded = sum(view.numel() for view in views) < flat.numel()
        buffer = torch.cat([view.reshape(-1) for view in views]) if padded else flat
        pieces = torch.split(buffer, [view.numel() for view in views])
        shards = [piece.view(view.shape) for piece, view in zip(pieces, views, strict=True)]
        bucket = ShardBucket(self._order(group), buffer, shards, [each.sharded_param for each in trained])
        reduced = self.measured.reduce(bucket).wait()
        if reduced.data_ptr() != buffer.data_ptr():
            buffer.copy_(reduced)
        if padded:
            for view, shard in zip(views, shards, strict=True):
                view.copy_(shard)

    def _order(self, group: FSDPParamGroup) -> int:
        """This bucket's place: a group that comes again begins another backward pass."""
        if any(group is seen for seen in self._seen):
            self._seen.clear()
        self._seen.append(group)
        return len(self._seen) - 1
