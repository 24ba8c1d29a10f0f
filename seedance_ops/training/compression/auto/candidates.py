"""What ``algorithm: auto`` chooses from, by how much of the gradients' quality the job lets it give away."""

from __future__ import annotations

from types import MappingProxyType

from seedance_ops.training.compression.config import (
    Bf16Config,
    DenseConfig,
    LocalUpdatesConfig,
    PowerSgdConfig,
    QualityTier,
    QuantizedErrorFeedbackConfig,
    TopKErrorFeedbackConfig,
)

CandidateConfig = (
    DenseConfig
    | Bf16Config
    | LocalUpdatesConfig
    | PowerSgdConfig
    | QuantizedErrorFeedbackConfig
    | TopKErrorFeedbackConfig
)

FALLBACK = "bf16"

# Residuals are flushed on save, so that what was chosen never decides by how many ranks a run can go on.
CANDIDATES: MappingProxyType[str, CandidateConfig] = MappingProxyType(
    {
        "bf16": Bf16Config(algorithm="bf16"),
        "dense": DenseConfig(),
        "local_updates": LocalUpdatesConfig(algorithm="local_updates"),
        "powersgd": PowerSgdConfig(algorithm="powersgd", flush_on_save=True),
        "quantized_5": QuantizedErrorFeedbackConfig(
            algorithm="quantized_error_feedback", levels=5, flush_on_save=True
        ),
        "topk_1": TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.01, flush_on_save=True),
    }
)
"""By the name that decisions are kept under."""

_SAFE = ("dense",)
_EQUIVALENT = (*_SAFE, "local_updates", "powersgd", "quantized_5")

_OF_TIER: dict[QualityTier, tuple[str, ...]] = {
    "safe": _SAFE,
    "equivalent": _EQUIVALENT,
    "lossy": (*_EQUIVALENT, "topk_1"),
}


def candidates_of(tier: QualityTier, *, whole_parameters: bool) -> tuple[str, ...]:
    """The names of a tier, without the fallback.

    Args:
        tier: What the job allows.
        whole_parameters: Whether every rank has whole float32 parameters, which ``local_updates`` averages.
    """
    return tuple(name for name in _OF_TIER[tier] if whole_parameters or name != "local_updates")
