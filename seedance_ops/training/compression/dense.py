"""The plain all-reduce in the gradients' own type: what DDP does by itself, measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import FP32_BYTES, Bucket, Reduction, ring_all_reduce_bytes


class Dense:
    """No compression."""

    name = "dense"

    def bind(self, parameter_names: Mapping[int, str]) -> None:
        """Nothing is kept by parameter."""

    def reduce(self, bucket: Bucket) -> Reduction:
        """Average the bucket in place; the same arithmetic as DDP without a hook."""
        world_size = dist.get_world_size()
        gradient = bucket.buffer().div_(world_size)
        future = dist.all_reduce(gradient, async_op=True).get_future()
        sent = ring_all_reduce_bytes(gradient.nbytes, world_size)
        return Reduction(future.then(lambda done: done.value()[0]), sent)

    def declared_bytes(self, sizes: Sequence[int], world_size: int) -> int:
        """``2 (n-1)/n`` of four bytes an element."""
        return ring_all_reduce_bytes(sum(sizes) * FP32_BYTES, world_size)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Stateless."""
        return {}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Stateless."""
