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
        "quantized": QuantizedErrorFeedbackConfig(algorithm="quantized_error_feedback", flush_on_save=True),
        "topk_1": TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.01, flush_on_save=True),
    }
)
"""By the name that decisions are kept under."""

_TIERS: tuple[tuple[QualityTier, tuple[str, ...]], ...] = (
    ("safe", ("dense",)),
    ("equivalent", ("quantized",)),
    ("close", ("local_updates", "powersgd")),
    ("lossy", ("topk_1",)),
)


def candidates_of(tier: QualityTier, *, local_updates: bool) -> tuple[tuple[str, ...], ...]:
    """The names that a tier allows, those of the best quality first, without the fallback.

    Args:
        tier: What the job allows.
        local_updates: Whether ranks may step by themselves.
    """
    last = [name for name, _ in _TIERS].index(tier)
    return tuple(
        tuple(name for name in names if local_updates or name != "local_updates")
        for _, names in _TIERS[: last + 1]
    )
