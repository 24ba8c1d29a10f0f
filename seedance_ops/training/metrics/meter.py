"""Measures one optimiser step at a time and turns it into a record."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from seedance_ops.training.compression.hook import MeasuredReduction
from seedance_ops.training.metrics.flops import FlopCount
from seedance_ops.training.metrics.records import StepRecord
from seedance_ops.training.metrics.utilisation import UtilisationProbe
from seedance_ops.training.parallel import ProcessGroup
from seedance_ops.training.schedule import Step


@dataclass(frozen=True)
class Workload:
    """What the measurement needs to know of the model."""

    parameters: int
    tokens_per_sample: int | None


class StepMeter:
    """Times a step from ``start`` to ``finish``; a checkpoint's stall belongs to the step after it."""

    def __init__(
        self, group: ProcessGroup, reduction: MeasuredReduction, flops: FlopCount, probe: UtilisationProbe,
        workload: Workload,
    ) -> None:  # fmt: skip
        self._group = group
        self._reduction = reduction
        self._flops = flops
        self._probe = probe
        self._workload = workload
        self._step: Step | None = None
        self._started_at_s = 0.0
        self._started_s = 0.0
        self._stall_s = 0.0

    @property
    def running(self) -> bool:
        """Whether a step has started and not finished."""
        return self._step is not None

    def start(self, step: Step, stall_s: float) -> None:
        """The step begins, after training stood still for ``stall_s``."""
        self._step = step
        self._stall_s = stall_s
        self._probe.cpu_utilisation()
        self._flops.open()
        self._started_at_s = time.time() - stall_s
        self._started_s = time.perf_counter()

    def finish(self, loss: torch.Tensor | float | None, *, meet: bool) -> StepRecord:
        """The step is done, with its loss; with ``meet`` the ranks are alike afterwards."""
        assert self._step is not None
        step, self._step = self._step, None
        self._reduction.end_step(meet=meet)
        if self._group.device.type == "cuda":
            torch.cuda.synchronize(self._group.device)  # one wait a step, so that its time is its own
        busy_s = time.perf_counter() - self._started_s
        tokens_per_sample = self._workload.tokens_per_sample
        self._flops.close(step.batch, self._workload.parameters, tokens_per_sample)
        flops = self._flops.known
        sent = self._reduction.take()
        wait_s = min(sent.wait_s, busy_s)
        return StepRecord(
            rank=self._group.rank,
            world_size=self._group.world_size,
            step=step.number,
            started_at_s=self._started_at_s,
            step_time_s=busy_s + self._stall_s,
            compute_s=busy_s - wait_s,
            communication_wait_s=wait_s,
            all_reduce_s=sent.all_reduce_s,
            checkpoint_stall_s=self._stall_s,
            bytes_on_wire=sent.bytes_on_wire,
            bytes_dense_fp32=sent.bytes_dense_fp32,
            samples=step.batch,
            tokens=None if tokens_per_sample is None else step.batch * tokens_per_sample,
            model_flops=None if flops is None else flops.per_sample * step.batch,
            flops_method=None if flops is None else flops.method,
            cpu_utilisation=self._probe.cpu_utilisation(),
            gpu_utilisation=self._probe.gpu_utilisation(),
            memory_bytes=self._probe.memory_bytes(),
            train_loss=loss.item() if isinstance(loss, torch.Tensor) else loss,
        )

    def abandon(self) -> None:
        """Forget a step that will not finish."""
        self._step = None
        self._flops.abandon()
