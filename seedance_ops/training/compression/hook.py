"""The DDP communication hook: calls the reduction, and notes when and how much it sent."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import (
    FP32_BYTES,
    Bucket,
    GradientReduction,
    ring_all_reduce_bytes,
)
from seedance_ops.training.compression.dense import Dense
from seedance_ops.training.compression.without_state import elements_of


@dataclass
class StepCommunication:
    """What one step's reductions did; times in seconds."""

    bytes_on_wire: int = 0
    bytes_dense_fp32: int = 0
    all_reduce_s: float = 0.0
    wait_s: float = 0.0


@dataclass
class MeasuredReduction:
    """A reduction, and the marks of the step under way; the state of the communication hook."""

    reduction: GradientReduction
    silent: bool = False
    """While set, gradients are averaged plainly and nothing is noted: for a pass that is no step."""
    group: dist.ProcessGroup | None = None
    """The ranks that average; none for all."""
    blocking: bool = False
    """Whether the backward pass stands still during each reduction."""
    _marks: list[tuple[_Mark, _Mark]] = field(default_factory=list)
    _step: StepCommunication = field(default_factory=StepCommunication)
    _waited_s: float = 0.0

    def reduce(self, bucket: Bucket) -> torch.futures.Future[torch.Tensor]:
        """Reduce one bucket."""
        if self.silent:
            return Dense().reduce(bucket).future
        buffer, shapes = bucket.buffer(), [gradient.shape for gradient in bucket.gradients()]
        ready = _Mark(buffer.device)
        reduction = self.reduction.reduce(bucket)
        world_size = dist.get_world_size(self.group)
        # The formulas are for fp32 gradients; what 16-bit ones send is counted and not checked.
        declared = (
            self.reduction.declared_bytes(shapes, world_size) if buffer.element_size() == FP32_BYTES else None
        )
        self._step.bytes_dense_fp32 += ring_all_reduce_bytes(elements_of(shapes) * FP32_BYTES, world_size)

        def note(done: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
            reduced = done.value()
            self._marks.append((ready, _Mark(reduced.device)))
            self._count(reduction.bytes_sent, declared)
            return reduced

        return reduction.future.then(note)

    def end_step(self, *, meet: bool = False) -> None:
        """The optimiser has stepped: let the reduction finish its step, and wait.

        Args:
            meet: Make the ranks alike, since what they have now is to be judged or kept.
        """
        began_s = time.perf_counter()
        done = self.reduction.end_step()
        if meet:
            done += self.reduction.meet()
        self._count(done.bytes_sent, done.declared_bytes)
        self._waited_s += time.perf_counter() - began_s

    def take(self) -> StepCommunication:
        """The finished step's numbers; starts the next step. The device must be idle."""
        step, self._step = self._step, StepCommunication()
        marks, self._marks = self._marks, []
        if marks:
            step.all_reduce_s = sum(ready.until(done) for ready, done in marks)
            last_ready = max((ready for ready, _ in marks), key=lambda mark: mark.at_s)
            last_s = max(0.0, *(last_ready.until(done) for _, done in marks))
            step.wait_s = step.all_reduce_s if self.blocking else last_s
        step.wait_s += self._waited_s
        step.all_reduce_s += self._waited_s
        self._waited_s = 0.0
        return step

    def _count(self, measured: int, declared: int | None) -> None:
        """The bytes that a report will quote must be the bytes that were handed over."""
        if declared is not None and measured != declared:
            raise AssertionError(
                f"{self.reduction.name} handed {measured} bytes to the network, its formula says {declared}"
            )
        self._step.bytes_on_wire += measured


def reduce_gradients(state, bucket):  # type: ignore[no-untyped-def]
    """What DDP calls: it insists on an argument named ``bucket``, and compares annotations by identity."""
    return state.reduce(bucket)


class _Mark:
    """A point in time: on the host's clock, or on the GPU's stream where the work is asynchronous."""

    def __init__(self, device: torch.device) -> None:
        self.at_s = time.perf_counter()
        self._event: torch.cuda.Event | None = None
        if device.type == "cuda":
            self._event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            self._event.record(torch.cuda.current_stream(device))

    def until(self, later: _Mark) -> float:
        """Seconds from this mark to a later one, at least 0."""
        if self._event is not None and later._event is not None:
            return max(0.0, float(self._event.elapsed_time(later._event)) / 1000.0)
        return max(0.0, later.at_s - self.at_s)
