"""Makes the gradient reduction that a configuration names."""

from __future__ import annotations

from typing import assert_never

from seedance_ops.training.compression.base import GradientReduction
from seedance_ops.training.compression.config import (
    Bf16Config,
    CompressionConfig,
    DenseConfig,
    Fp16Config,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.dense import Dense
from seedance_ops.training.compression.half_precision import HalfPrecision
from seedance_ops.training.compression.topk_error_feedback import TopKErrorFeedback


def make_reduction(config: CompressionConfig) -> GradientReduction:
    """A reduction without state yet."""
    match config:
        case DenseConfig():
            return Dense()
        case Bf16Config():
            return HalfPrecision.bf16()
        case Fp16Config():
            return HalfPrecision.fp16()
        case TopKErrorFeedbackConfig():
            return TopKErrorFeedback(k_ratio=config.k_ratio, error_accumulation=config.error_accumulation)
        case _:
            assert_never(config)
