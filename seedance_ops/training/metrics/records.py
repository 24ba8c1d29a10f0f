"""The rows a run records, without the identity that every row of a submission shares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One rank's optimiser step; the columns of ``STEPS``."""

    rank: int
    world_size: int
    step: int
    started_at_s: float
    step_time_s: float
    compute_s: float
    communication_wait_s: float
    all_reduce_s: float
    checkpoint_stall_s: float
    bytes_on_wire: int
    bytes_dense_fp32: int
    samples: int
    tokens: int | None
    model_flops: float | None
    flops_method: str | None
    cpu_utilisation: float
    gpu_utilisation: float | None
    memory_bytes: int
    train_loss: float | None


@dataclass(frozen=True, slots=True)
class EvaluationRecord:
    """One evaluation of one metric; the columns of ``EVALUATIONS``."""

    step: int
    samples_seen: int
    at_s: float
    train_elapsed_s: float
    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class CheckpointWriteRecord:
    """One committed checkpoint in one tier; the columns of ``CHECKPOINT_WRITES``."""

    step: int
    tier: str
    bytes: int
    write_s: float
    stall_s: float


@dataclass(frozen=True, slots=True)
class CheckpointIntervalRecord:
    """One decision on when to take a checkpoint; the columns of ``CHECKPOINT_INTERVALS``."""

    step: int
    at_s: float
    policy: str
    outcome: str
    interval_steps: int
    next_step: int
    inputs: str
    reason: str


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What one rank used of one kind since its last such row; the columns of ``USAGE``."""

    rank: int
    at_s: float
    stage: str
    component: str
    tier: str
    quantity: float | None
    method: str
