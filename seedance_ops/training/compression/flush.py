"""Before a checkpoint, what ranks and owners carry becomes one residual, the same on every rank.

What is owed to the mean gradient is the mean of the ranks' residuals plus, for each element, what its owner
left out. Added up exactly and carried by every rank alike, it is owed as before, but no longer depends on
how many ranks there are: a checkpoint can be taken up by another number of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import (
    FP32_BYTES,
    Bound,
    Bucket,
    Exchange,
    Reduction,
    ring_all_reduce_bytes,
)
from seedance_ops.training.compression.on_lane import OnLane

FLUSHED = "flushed."
"""Prefix of what is owed by parameter, in the state."""


class FlushOnSave:
    """Another reduction whose residuals are added up densely whenever the ranks meet."""

    fits_any_world_size = True

    def __init__(self, then: OnLane) -> None:
        self.name = then.name
        self._then = then
        self._apart = False
        """Whether ranks carry different things."""
        self._owed: dict[str, torch.Tensor] = {}
        """By parameter and whole, from a flush or a checkpoint to the next step. Of what ranks carry it could
        not be put together without the others: with two levels each has its shard only."""

    def bind(self, bound: Bound) -> None:
        """Bind the other reduction."""
        self._bound = bound
        self._then.bind(bound)

    def close(self) -> None:
        """Close the other reduction."""
        self._then.close()

    def reduce(self, bucket: Bucket) -> Reduction:
        """Of the other reduction."""
        self._apart = True
        self._owed.clear()
        return self._then.reduce(bucket)

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """Of the other reduction; a flush is a ring all-reduce of what is compressed, in fp32."""
        return self._then.declared_bytes(shapes, world_size)

    def end_step(self) -> Exchange:
        """Of the other reduction."""
        return self._then.end_step()

    def meet(self) -> Exchange:
        """Flush, where there has been a step since the last flush; a collective call."""
        if not self._apart:
            return Exchange()
        self._apart = False
        group = self._bound.group
        ranks, done = dist.get_world_size(group), Exchange()
        for name in self._then.owing():
            owed = self._then.share_of_owed(name, dist.get_rank(group), ranks).to(self._bound.device)
            dist.all_reduce(owed, group=group)
            self._then.carry(name, owed, ranks)
            self._owed[name] = owed
            declared = FP32_BYTES * self._bound.shapes[name].numel()
            done += Exchange(
                ring_all_reduce_bytes(owed.nbytes, ranks), ring_all_reduce_bytes(declared, ranks)
            )
        return done

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The same on every rank: what is owed by parameter, of its shape, and what else is carried."""
        assert not self._apart, "meet() comes before a checkpoint"
        state = self._then.state_dict()
        for name in self._then.owing():
            del state[f"worker.{name}"]
            state[FLUSHED + name] = self._owed[name]
        return state

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take it up, for as many ranks as there are now."""
        ranks = dist.get_world_size(self._bound.group)
        rest = {name: value for name, value in state.items() if not name.startswith(FLUSHED)}
        self._then.load_state_dict(rest)
        self._apart = bool(self._then.owing())  # of a checkpoint that was not flushed
        self._owed = {
            name.removeprefix(FLUSHED): owed for name, owed in state.items() if name.startswith(FLUSHED)
        }
        for name, owed in self._owed.items():
            self._then.carry(name, owed, ranks)
