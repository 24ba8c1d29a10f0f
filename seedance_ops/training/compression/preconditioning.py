"""Gradients in units of what the optimiser takes as their size: errors then fall where they hurt least.

AdamW divides each element by √v. A code whose error is a share of the *block's* size therefore moves the
elements with a small v by far too much; after division by √v all elements are alike (measured:
``docs/gradient-compression.md``). v is the same on every rank, so nothing about it is sent.
"""

from __future__ import annotations

import torch
from torch.distributed.tensor import DTensor

FLOOR = 0.1
"""Of √v's own root mean square: elements that hardly ever had a gradient are not blown up without bound."""


def sizes_by_optimizer(
    optimizer: torch.optim.Optimizer | None, parameter: torch.Tensor
) -> torch.Tensor | None:
    """√v plus a floor, of the parameter's shape, float32; the factor common to all elements is arbitrary.

    Returns:
        ``None`` where the optimiser has no second moment of it (yet): SGD, or before the first step.
    """
    if optimizer is None or parameter not in optimizer.state:
        return None
    second_moment = optimizer.state[parameter].get("exp_avg_sq")
    if not isinstance(second_moment, torch.Tensor) or second_moment.shape != parameter.shape:
        return None
    if isinstance(second_moment, DTensor):  # of a shard, under FSDP
        second_moment = second_moment.to_local()
    sizes = second_moment.float().sqrt()
    floor = FLOOR * torch.linalg.vector_norm(sizes) / sizes.numel() ** 0.5
    if not bool(floor > 0.0) or not bool(torch.isfinite(floor)):
        return None
    return sizes.add_(floor)
