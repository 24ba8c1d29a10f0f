"""The plain all-reduce in the gradients' own type: what DDP does by itself, measured."""

from __future__ import annotations

from collections.abc import Sequence

import torch.distributed as dist

from seedance_ops.training.compression.base import FP32_BYTES, Bucket, Reduction, ring_all_reduce_bytes
from seedance_ops.training.compression.without_state import WithoutState, elements_of


class Dense(WithoutState):
    """No compression."""

    name = "dense"

    def reduce(self, bucket: Bucket) -> Reduction:
        """Average the bucket in place; the same arithmetic as DDP without a hook."""
        world_size = dist.get_world_size(self.group)
        gradient = bucket.buffer().div_(world_size)
        future = dist.all_reduce(gradient, group=self.group, async_op=True).get_future()
        sent = ring_all_reduce_bytes(gradient.nbytes, world_size)
        return Reduction(future.then(lambda done: done.value()[0]), sent)

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """``2 (n-1)/n`` of four bytes an element."""
        return ring_all_reduce_bytes(elements_of(shapes) * FP32_BYTES, world_size)
