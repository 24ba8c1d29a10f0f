"""Which rank owns which elements of a parameter: a turn of a few neighbours each, round after round.

Every parameter is cut by itself, so that who owns an element does not depend on the bucket it travels in:
DDP arranges its buckets anew after the first step, and a residual must stay with its elements.
"""

from __future__ import annotations

import math

import torch

TURN = 32
"""Neighbouring elements that an owner takes at once. All owners' rows are equally long and equally mixed."""


def columns_of(size: int, owners: int) -> int:
    """Elements of a parameter of ``size`` in each owner's row, padding included."""
    return math.ceil(size / (owners * TURN)) * TURN


def to_rows(parameter: torch.Tensor, owners: int, fill: float = 0.0) -> torch.Tensor:
    """A new float32 matrix ``[owners, columns_of(size, owners)]`` with an owner's elements in its row.

    ``fill`` fills up the last round.
    """
    flat = parameter.reshape(-1)
    columns = columns_of(flat.numel(), owners)
    padded = torch.empty(owners * columns, dtype=torch.float32, device=flat.device)
    padded[: flat.numel()] = flat
    padded[flat.numel() :] = fill
    return padded.view(-1, owners, TURN).transpose(0, 1).reshape(owners, columns)


def from_rows(rows: torch.Tensor, out: torch.Tensor) -> None:
    """Write rows back to the parameter ``out``, in its own type; ``to_rows`` undone."""
    owners, columns = rows.shape
    flat = rows.view(owners, -1, TURN).transpose(0, 1).reshape(owners * columns)
    out.copy_(flat[: out.numel()].view(out.shape))
