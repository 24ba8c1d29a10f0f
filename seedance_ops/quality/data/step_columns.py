"""The columns of the step records that hold measurements."""

from __future__ import annotations

from typing import Literal, get_args

StepColumn = Literal[
    "started_at_s", "step_time_s", "compute_s", "communication_wait_s", "all_reduce_s", "checkpoint_stall_s",
    "bytes_on_wire", "bytes_dense_fp32", "samples", "cpu_utilisation", "memory_bytes",
    "tokens", "model_flops", "gpu_utilisation", "train_loss",
]  # fmt: skip
"""The measured columns of ``training.metrics.tables.STEPS``."""
SOMETIMES_MEASURED: tuple[StepColumn, ...] = ("tokens", "model_flops", "gpu_utilisation", "train_loss")
"""Empty where the workload or the device does not tell."""
STEP_COLUMNS: tuple[StepColumn, ...] = get_args(StepColumn)
