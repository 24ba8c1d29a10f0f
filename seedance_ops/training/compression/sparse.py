"""Top-k selection and the packed payload of (index, value) pairs: pure functions on flat tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import torch

ENTRY_BYTES = 8
"""An int32 index and an fp32 value."""


def entries_for(size: int, k_ratio: float) -> int:
    """How many of a parameter's elements are sent: ``ceil(k_ratio · size)``, at least one.

    In decimal arithmetic, since 0.07 · 100 is 7.000000000000001 in binary and would send eight.
    """
    return min(size, max(1, math.ceil(Decimal(str(k_ratio)) * size)))


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
