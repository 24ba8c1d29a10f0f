"""What a job may say about gradient compression (R1.3)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seedance_ops.strict_model import StrictModel

Backend = Literal["gloo", "nccl"]


class DenseConfig(StrictModel):
    """No compression: the all-reduce in the gradients' own type. What a plan without a block means."""

    algorithm: Literal["dense"] = "dense"
    """No compression."""
    allreduce_backend: Backend | None = None
    """Process-group backend; ``None`` takes NCCL where there is a GPU, else gloo."""


class Bf16Config(StrictModel):
    """Gradients cast to bfloat16 for the all-reduce: half of fp32's bytes."""

    algorithm: Literal["bf16"]
    """Gradients as bfloat16."""
    allreduce_backend: Backend | None = None
    """Process-group backend; ``None`` takes NCCL where there is a GPU, else gloo."""


class Fp16Config(StrictModel):
    """Gradients cast to float16 for the all-reduce: more precise than bf16, but infinite above 65,504."""

    algorithm: Literal["fp16"]
    """Gradients as float16."""
    allreduce_backend: Backend | None = None
    """Process-group backend; ``None`` takes NCCL where there is a GPU, else gloo."""


class TopKErrorFeedbackConfig(StrictModel):
    """The largest ``k_ratio`` of each parameter's gradient, the rest carried to later steps."""

    algorithm: Literal["topk_error_feedback"]
    """The largest elements, with error feedback."""
    k_ratio: float = Field(default=0.01, gt=0.0, le=1.0)
    """Share of the gradient's elements that is sent, in (0, 1]."""
    error_accumulation: bool = True
    """Keep what was not sent and add it to the next gradient (error feedback)."""
    allreduce_backend: Backend | None = None
    """Process-group backend; ``None`` takes NCCL where there is a GPU, else gloo."""


CompressionConfig = Annotated[
    DenseConfig | Bf16Config | Fp16Config | TopKErrorFeedbackConfig, Field(discriminator="algorithm")
]
