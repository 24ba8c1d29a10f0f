"""Gradients cast to bfloat16 for the all-reduce: half of fp32's bytes, fp32's range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import Bucket, Reduction, ring_all_reduce_bytes

_BF16_BYTES = 2


class Bf16:
    """Cast, all-reduce, cast back."""

    name = "bf16"

    def bind(self, parameter_names: Mapping[int, str]) -> None:
        """Nothing is kept by parameter."""

    def reduce(self, bucket: Bucket) -> Reduction:
        """Average the bucket in bfloat16; divided first, so that the sum stays in range."""
        world_size = dist.get_world_size()
        gradient = bucket.buffer()
        payload = gradient.to(torch.bfloat16).div_(world_size)
        future = dist.all_reduce(payload, async_op=True).get_future()
        sent = ring_all_reduce_bytes(payload.nbytes, world_size)
        return Reduction(future.then(lambda done: gradient.copy_(done.value()[0])), sent)

    def declared_bytes(self, sizes: Sequence[int], world_size: int) -> int:
        """``2 (n-1)/n`` of two bytes an element."""
        return ring_all_reduce_bytes(sum(sizes) * _BF16_BYTES, world_size)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Stateless."""
        return {}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Stateless."""
