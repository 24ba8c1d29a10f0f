"""Makes the gradient reduction that a configuration names."""

from __future__ import annotations

from typing import assert_never

from seedance_ops.training.compression.base import GradientReduction
from seedance_ops.training.compression.bf16 import Bf16
from seedance_ops.training.compression.config import (
    Bf16Config,
    CompressionConfig,
    DenseConfig,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.dense import Dense
from seedance_ops.training.compression.topk_error_feedback import TopKErrorFeedback


def make_reduction(config: CompressionConfig) -> GradientReduction:
    """A reduction without state yet."""
    match config:
        case DenseConfig():
            return Dense()
        case Bf16Config():
            return Bf16()
        case TopKErrorFeedbackConfig():
            return TopKErrorFeedback(k_ratio=config.k_ratio, error_accumulation=config.error_accumulation)
        case _:
            assert_never(config)
