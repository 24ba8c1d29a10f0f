"""Top-k selection and the packed payload of (index, value) pairs: pure functions on flat tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from seedance_ops.training.compression.sparse_layout import entries_for as entries_for  # noqa: PLC0414 - mypy asks for it

ENTRY_BYTES = 8
"""An int32 index and an fp32 value."""


def select_largest(corrected: torch.Tensor, k: int) -> torch.Tensor:
    """Indices of the k elements of largest magnitude; NaN counts as the largest, so it is not hidden."""
    return torch.topk(corrected.abs(), k, sorted=False).indices


def pack(indices: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """One int32 tensor: all indices, then the bits of all fp32 values."""
    return torch.cat([indices.to(torch.int32), values.to(torch.float32).view(torch.int32)])


def unpack(payload: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices and values of one rank's payload."""
    half = payload.numel() // 2
    return payload[:half].to(torch.int64), payload[half:].view(torch.float32)


def mean_of(payloads: Sequence[torch.Tensor], out: torch.Tensor) -> bool:
    """Write the mean of all ranks' sparse gradients into ``out``; false where a value is not finite.

    Ranks are added in order, and no index occurs twice within one rank, so every rank computes the same
    bits.
    """
    out.zero_()
    finite = True
    for payload in payloads:
        indices, values = unpack(payload)
        finite = finite and bool(torch.isfinite(values).all())
        out.index_add_(0, indices, values.to(out.dtype))
    out.div_(len(payloads))
    return finite
