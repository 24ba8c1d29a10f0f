"""Whether the bytes on the wire are those that the variant's algorithm must send."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from seedance_ops.quality.data.fact import DataFact
from seedance_ops.training.compression.config import (
    SMALLEST,
    AutoConfig,
    Bf16Config,
    ByElementConfig,
    CompressionConfig,
    DenseConfig,
    Fp16Config,
    LocalUpdatesConfig,
    MixedPrecisionConfig,
    PowerSgdConfig,
    QuantizedErrorFeedbackConfig,
    RandomKConfig,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.level_tables import BLOCK, TABLES
from seedance_ops.training.compression.sparse_layout import sparse_layout

CHECK = "bytes_consistent"
_FP32_BYTES = 4
_HALF_BYTES = 2
_PADDING_BYTES = 256
"""At most, for each parameter and message: what fills up a row, and what rounds an encoded one up."""
_SMALL_PARTS = 100
"""More buckets than a step has: the small tensors of each are padded as one."""
_LONG_ROW = 2**20
_SHORT_ROWS = 0.9
"""An index in a short row takes a little less than in a long one."""
_ROUNDING = 1e-3
"""Each bucket's share of a ring is a whole number of bytes."""
_MEETING = 4.0
"""Dense exchanges that one meeting takes at most: of the parameters, and of up to three moments of them."""
_Compressed = (
    TopKErrorFeedbackConfig
    | RandomKConfig
    | QuantizedErrorFeedbackConfig
    | PowerSgdConfig
    | MixedPrecisionConfig
)
_Bytes = npt.NDArray[np.float64]


def bytes_consistent(
    variant: str,
    steps: pd.DataFrame,
    *,
    compression: CompressionConfig,
    world_size: int,
    ranks_per_node: int,
    gradient_bytes: int,
    tensors: int,
) -> DataFact:
    """Each rank's bytes of each step against the formula of the algorithm that the job names.

    Args:
        variant: Whose step records they are.
        steps: With ``bytes_on_wire`` and ``bytes_dense_fp32``, which says how many elements there are.
        compression: What the variant asks for.
        world_size: Ranks n. A single one sends nothing.
        ranks_per_node: Of them, which average densely among themselves with ``two_levels``.
        gradient_bytes: Bytes an element of the gradients has without compression: 4, or 2 for 16-bit models.
        tensors: At most so many parameter tensors: what is encoded is rounded up in each.
    """
    dense = steps["bytes_dense_fp32"].to_numpy(dtype=np.float64, na_value=np.nan)
    sent = steps["bytes_on_wire"].to_numpy(dtype=np.float64, na_value=np.nan)
    two_levels = isinstance(compression, ByElementConfig) and compression.two_levels
    nodes = world_size // ranks_per_node if two_levels else world_size
    least, most = _bounds(
        dense,
        compression,
        world_size=world_size,
        nodes=nodes,
        gradient_bytes=gradient_bytes,
        tensors=tensors,
    )
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
    dense: _Bytes,
    compression: CompressionConfig,
    *,
    world_size: int,
    nodes: int,
    gradient_bytes: int,
    tensors: int,
) -> tuple[_Bytes, _Bytes]:
    """The least and the most bytes; ``dense`` is the ring's ``2 (n-1)/n · 4`` bytes an element.

    ``nodes``: as many as ranks where there is one level.
    """
    if world_size == 1:
        return np.zeros_like(dense), np.zeros_like(dense)
    if isinstance(compression, DenseConfig):
        return _about(dense * gradient_bytes / _FP32_BYTES)
    if isinstance(compression, Bf16Config | Fp16Config):
        return _about(dense * _HALF_BYTES / _FP32_BYTES)
    if isinstance(compression, AutoConfig):
        # From nothing, of local updates, to a probe of all candidates.
        return np.zeros_like(dense), np.full_like(dense, np.inf)
    if isinstance(compression, LocalUpdatesConfig):
        # Nothing in the first step; then a slice, all in bf16 with ``dense_steps``, or a meeting as well.
        return np.zeros_like(dense), _about(dense * (_HALF_BYTES / _FP32_BYTES + _MEETING))[1]
    rate = _least_bytes_per_element(compression)
    # The session checks the exact formula at every bucket, by the shapes that only it knows. Small tensors
    # travel as bfloat16, and so do a run's first steps with ``dense_steps``.
    elements = dense * world_size / (2 * (world_size - 1) * _FP32_BYTES)
    padded = np.minimum(tensors, elements / SMALLEST + _SMALL_PARTS)
    padding = 2 * (world_size - 1) * padded * _PADDING_BYTES
    least = _share_of_dense(rate, world_size, nodes)
    most = dense * _share_of_dense(max(_HALF_BYTES, rate), world_size, nodes) + padding
    if compression.dense_steps:  # less than what a node's ranks send each other in fp32
        least = min(least, _HALF_BYTES / _FP32_BYTES)
    if compression.flush_on_save:
        most += dense
    return _about(dense * least)[0], _about(most)[1]


def _share_of_dense(rate: float, ranks: int, nodes: int) -> float:
    """What a rank sends at ``rate`` bytes an element between nodes, by what it sends in a dense fp32 ring.

    Of N nodes with L ranks each: ``2 (L-1)/L · 4`` bytes an element in fp32 within the node and
    ``2 (N-1)/(N L) · rate`` between, by ``2 (n-1)/n · 4``. Ranks that are nodes send the latter only.
    """
    return (ranks - nodes + (nodes - 1) * rate / _FP32_BYTES) / (ranks - 1)


def _least_bytes_per_element(compression: _Compressed) -> float:
    """Where every tensor is large enough to be encoded."""
    if isinstance(compression, QuantizedErrorFeedbackConfig):
        if compression.levels is None:
            return compression.bits_per_element / 8
        return TABLES[compression.levels].bits_per_element / 8 + _HALF_BYTES / BLOCK
    if isinstance(compression, TopKErrorFeedbackConfig):
        row = sparse_layout(_LONG_ROW, compression.k_ratio, compression.values)
        return _SHORT_ROWS * row.row_bytes / _LONG_ROW
    if isinstance(compression, RandomKConfig):
        return compression.k_ratio * _HALF_BYTES
    # How thin PowerSGD's matrices are depends on shapes, and what a device selects on its profile: at least
    # something is sent.
    return 1e-6


def _about(expected: _Bytes) -> tuple[_Bytes, _Bytes]:
    slack = _ROUNDING * expected + 1.0
    return expected - slack, expected + slack


def _range(least: float, most: float) -> str:
    if np.isnan(least):
        return "an unknown number"
    return f"{least:.0f} … {most:.0f}"
