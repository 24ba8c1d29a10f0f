"""Times candidates' exchanges over the real link, on made-up gradients, while training stands still."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from seedance_ops.training.compression.auto.prediction import LinkSpeed, Trial
from seedance_ops.training.compression.base import Bound, Bucket, GradientReduction
from seedance_ops.training.compression.local_updates import LocalUpdates
from seedance_ops.training.compression.without_state import elements_of

_TIMED = 3
"""Exchanges, after one that is not timed."""
_COLLECTIVES = 2
"""Of a bucket, at least; of an exchange of local updates as well."""
_LINK_BYTES = 4 << 20
"""That each rank sends to measure bandwidth: more than what a shaped link lets through at once."""
_SIZE = 1e-3
_COPIES = 6
"""Gradients and residuals, in float32, that a candidate needs room for at its most."""


@dataclass(frozen=True)
class BucketShape:
    """A bucket as training has it, without its gradients."""

    index: int
    parameters: tuple[torch.Tensor, ...]
    shapes: tuple[torch.Size, ...]
    dtype: torch.dtype

    @classmethod
    def of(cls, bucket: Bucket) -> BucketShape:
        """What to make up."""
        shapes = tuple(gradient.shape for gradient in bucket.gradients())
        return cls(bucket.index(), tuple(bucket.parameters()), shapes, bucket.buffer().dtype)


class MadeUp:
    """A ``Bucket`` of random gradients."""

    def __init__(self, like: BucketShape, device: torch.device, generator: torch.Generator) -> None:
        self._like = like
        flat = torch.randn(elements_of(like.shapes), device=device, generator=generator)
        self._buffer = flat.mul_(_SIZE).to(like.dtype)

    def index(self) -> int:
        """As in training."""
        return self._like.index

    def buffer(self) -> torch.Tensor:
        """All, flat."""
        return self._buffer

    def gradients(self) -> list[torch.Tensor]:
        """Views, one for each parameter."""
        pieces = torch.split(self._buffer, [shape.numel() for shape in self._like.shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self._like.shapes, strict=True)]

    def parameters(self) -> list[torch.Tensor]:
        """The model's."""
        return list(self._like.parameters)


@dataclass
class Probe:
    """One probe, on every rank at once; all methods are collective calls."""

    bound: Bound
    buckets: Sequence[BucketShape]
    bytes_sent: int = 0
    """By this rank, for all that was timed so far."""

    def link(self) -> LinkSpeed:
        """The link's speed as collectives that all ranks take part in see it; of the slowest rank."""
        ranks = dist.get_world_size(self.bound.group)
        latency_s = self._median_s(lambda: self._gather(1))
        size = _LINK_BYTES // (ranks - 1)
        long_s = self._median_s(lambda: self._gather(size))
        return LinkSpeed(latency_s, (ranks - 1) * size / max(long_s - latency_s, 1e-9))

    def exchange(self, name: str, reduction: GradientReduction) -> Trial:
        """One candidate on all buckets, which is bound for it and closed."""
        generator = torch.Generator(self.bound.device).manual_seed(dist.get_rank())
        buckets = [MadeUp(like, self.bound.device, generator) for like in self.buckets]
        reduction.bind(self.bound)
        sent = 0

        def once() -> None:
            nonlocal sent
            under_way = [reduction.reduce(bucket) for bucket in buckets]
            for each in under_way:
                each.future.wait()
            sent = sum(each.bytes_sent for each in under_way)
            self.bytes_sent += sent

        try:
            return Trial(name, self._median_s(once), sent, _COLLECTIVES * len(buckets))
        finally:
            reduction.close()

    def slice_exchange(self, name: str, every: int) -> Trial:
        """The exchange of local updates: of one slice, on a parameter that is made up."""
        elements = sum(elements_of(bucket.shapes) for bucket in self.buckets)
        parameter = torch.zeros(-(-elements // every), device=self.bound.device)
        reduction = LocalUpdates(every=1)
        reduction.bind(Bound({id(parameter): name}, self.bound.device))
        shape = BucketShape(0, (parameter,), (parameter.shape,), parameter.dtype)
        generator = torch.Generator(self.bound.device).manual_seed(0)
        reduction.reduce(MadeUp(shape, self.bound.device, generator))
        reduction.end_step()
        sent = 0

        def once() -> None:
            nonlocal sent
            sent = reduction.end_step().bytes_sent
            self.bytes_sent += sent

        try:
            # Without barriers: they would give the exchange that is under way its time.
            took_s = self._median_s(once, aligned=False)
            self.bytes_sent += reduction.meet().bytes_sent  # nothing may be under way at the end
            return Trial(name, took_s, sent, _COLLECTIVES, beside_next_step=True)
        finally:
            reduction.close()

    def suits_local_updates(self) -> bool:
        """Whether ranks may step by themselves: no shards, parameters in float32, and no loss scaler.

        Ranks with a scale of their own would skip different steps.
        """
        if self.bound.group is not None or self.bound.loss_scale is not None:
            return False
        parameters = [parameter for bucket in self.buckets for parameter in bucket.parameters]
        return all(each.dtype == torch.float32 and each.is_contiguous() for each in parameters)

    def has_room(self) -> bool:
        """Whether every rank's GPU can hold what trying out a candidate takes."""
        short = 0.0
        if self.bound.device.type == "cuda":
            elements = sum(elements_of(bucket.shapes) for bucket in self.buckets)
            free, _ = torch.cuda.mem_get_info(self.bound.device)
            short = float(free < 4 * _COPIES * elements)
        return self.largest([short]) == [0.0]

    def largest(self, values: Sequence[float]) -> list[float]:
        """Over all ranks, each value by itself."""
        found = torch.tensor(values, dtype=torch.float64, device=self.bound.device)
        dist.all_reduce(found, op=dist.ReduceOp.MAX)
        result: list[float] = found.tolist()
        return result

    def _median_s(self, once: Callable[[], None], *, aligned: bool = True) -> float:
        took_s = []
        for _ in range(1 + _TIMED):
            if aligned:
                dist.barrier()
            self._wait_for_device()
            began_s = time.perf_counter()
            once()
            self._wait_for_device()
            took_s.append(time.perf_counter() - began_s)
        return self.largest([statistics.median(took_s[1:])])[0]

    def _gather(self, size: int) -> None:
        group = self.bound.group
        message = torch.zeros(size, dtype=torch.uint8, device=self.bound.device)
        everything = message.new_empty(size * dist.get_world_size(group))
        dist.all_gather_single(everything, message, group=group)
        self.bytes_sent += everything.nbytes - size

    def _wait_for_device(self) -> None:
        if self.bound.device.type == "cuda":
            torch.cuda.synchronize(self.bound.device)
