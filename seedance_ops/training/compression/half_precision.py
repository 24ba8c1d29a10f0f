"""Gradients cast to a 16-bit type for the all-reduce: half of fp32's bytes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import Bucket, Reduction, ring_all_reduce_bytes
from seedance_ops.training.compression.without_state import WithoutState, elements_of

_BYTES = 2


class HalfPrecision(WithoutState):
    """Cast, all-reduce, cast back.

    bfloat16 has fp32's range and 8 bits of precision; float16 has 11, but an element above 65,504 becomes
    infinite, which every rank sees and a loss scaler answers by skipping the step.
    """

    def __init__(self, name: str, dtype: torch.dtype) -> None:
        self.name = name
        self._dtype = dtype

    @classmethod
    def bf16(cls) -> HalfPrecision:
        """In bfloat16."""
        return cls("bf16", torch.bfloat16)

    @classmethod
    def fp16(cls) -> HalfPrecision:
        """In float16."""
        return cls("fp16", torch.float16)

    def reduce(self, bucket: Bucket) -> Reduction:
        """Average the bucket; divided before the cast, so that the sum stays in range where the mean does."""
        world_size = dist.get_world_size(self.group)
        gradient = bucket.buffer()
        payload = gradient.div(world_size).to(self._dtype)
        future = dist.all_reduce(payload, group=self.group, async_op=True).get_future()
        sent = ring_all_reduce_bytes(payload.nbytes, world_size)
        return Reduction(future.then(lambda done: gradient.copy_(done.value()[0])), sent)

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """``2 (n-1)/n`` of two bytes an element."""
        return ring_all_reduce_bytes(elements_of(shapes) * _BYTES, world_size)
