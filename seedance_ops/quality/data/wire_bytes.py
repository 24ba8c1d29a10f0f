"""Whether the bytes on the wire are those that the variant's algorithm must send."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from seedance_ops.quality.data.fact import DataFact
from seedance_ops.training.compression.config import (
    Bf16Config,
    CompressionConfig,
    DenseConfig,
    Fp16Config,
    TopKErrorFeedbackConfig,
)

CHECK = "bytes_consistent"
_FP32_BYTES = 4
_HALF_BYTES = 2
_ENTRY_BYTES = 8
"""Of top-k: an int32 index and an fp32 value (``training.compression.sparse``)."""
_ROUNDING = 1e-3
"""Each bucket's share of a ring is a whole number of bytes."""
_Bytes = npt.NDArray[np.float64]


def bytes_consistent(
    variant: str,
    steps: pd.DataFrame,
    *,
    compression: CompressionConfig,
    world_size: int,
    gradient_bytes: int,
    tensors: int,
) -> DataFact | None:
    """Each rank's bytes of each step against the formula of the algorithm that the job names.

    Args:
        variant: Whose step records they are.
        steps: With ``bytes_on_wire`` and ``bytes_dense_fp32``, which says how many elements there are.
        compression: What the variant asks for.
        world_size: Ranks n. A single one sends nothing.
        gradient_bytes: Bytes an element of the gradients has without compression: 4, or 2 for 16-bit models.
        tensors: At most so many parameter tensors: top-k rounds its selection up in each.

    Returns:
        ``None`` for an algorithm whose bytes follow from nothing that is known here.
    """
    dense = steps["bytes_dense_fp32"].to_numpy(dtype=np.float64, na_value=np.nan)
    sent = steps["bytes_on_wire"].to_numpy(dtype=np.float64, na_value=np.nan)
    bounds = _bounds(dense, compression, world_size, gradient_bytes, tensors)
    if bounds is None:
        return None
    least, most = bounds
    # Written so that a NaN, or a world that sent nothing at all, is never within.
    within = (sent >= least) & (sent <= most) & ((dense > 0.0) | (world_size == 1))
    wrong = np.flatnonzero(~within)
    example = None
    if len(wrong):
        first = wrong[0]
        row = steps.iloc[first]
        example = (
            f"seed {row['seed']} rank {row['rank']} step {row['step']} sent {sent[first]:.0f} bytes; "
            f"{compression.algorithm} over {world_size} ranks sends {_range(least[first], most[first])}"
        )
    return DataFact(CHECK, variant, len(steps), len(wrong), example)


def _bounds(
    dense: _Bytes, compression: CompressionConfig, world_size: int, gradient_bytes: int, tensors: int
) -> tuple[_Bytes, _Bytes] | None:
    """The least and the most bytes; ``dense`` is the ring's ``2 (n-1)/n · 4`` bytes an element."""
    if world_size == 1:
        return np.zeros_like(dense), np.zeros_like(dense)
    if isinstance(compression, DenseConfig):
        return _about(dense * gradient_bytes / _FP32_BYTES)
    if isinstance(compression, Bf16Config | Fp16Config):
        return _about(dense * _HALF_BYTES / _FP32_BYTES)
    if isinstance(compression, TopKErrorFeedbackConfig):
        elements = dense * world_size / (2 * (world_size - 1) * _FP32_BYTES)
        entries = elements * compression.k_ratio
        to_all = (world_size - 1) * _ENTRY_BYTES
        return _about(entries * to_all)[0], _about(np.minimum(elements, entries + tensors) * to_all)[1]
    return None


def _about(expected: _Bytes) -> tuple[_Bytes, _Bytes]:
    slack = _ROUNDING * expected + 1.0
    return expected - slack, expected + slack


def _range(least: float, most: float) -> str:
    if np.isnan(least):
        return "an unknown number"
    return f"{least:.0f} … {most:.0f}"
