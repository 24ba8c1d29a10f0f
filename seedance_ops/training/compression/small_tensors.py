"""Tensors that are not worth compressing, or not safe to: averaged as bfloat16, fused into one part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import pad

from seedance_ops.training.compression.config import SMALLEST
from seedance_ops.training.compression.half_rows import HalfRows
from seedance_ops.training.compression.owner_mean import Part
from seedance_ops.training.compression.without_state import elements_of

_HALF = HalfRows()


def is_compressed(shape: Sequence[int]) -> bool:
    """Whether a parameter of this shape is given to a codec."""
    return len(shape) > 1 and torch.Size(shape).numel() >= SMALLEST


def small_row_bytes(shapes: Sequence[Sequence[int]], world_size: int) -> int:
    """Bytes of one owner's row of all these tensors together."""
    return _HALF.row_bytes(math.ceil(elements_of(shapes) / world_size))


@dataclass(frozen=True)
class SmallTensors:
    """A bucket's small gradients. A row for each would, at 128 ranks, be mostly padding."""

    gradients: Sequence[torch.Tensor]

    def fused(self) -> list[torch.Tensor]:
        """All of them in one flat float32 tensor, or none."""
        if not self.gradients:
            return []
        return [torch.cat([gradient.reshape(-1).float() for gradient in self.gradients])]

    def parts(self, ranks: int) -> list[Part]:
        """One part, or none."""
        rows = [pad(flat, (0, -len(flat) % ranks)).view(ranks, -1) for flat in self.fused()]
        return [
            Part(row, _HALF, torch.zeros(row.shape[1], dtype=torch.float32, device=row.device))
            for row in rows
        ]

    def take(self, means: Sequence[torch.Tensor]) -> None:
        """Write the mean of ``parts``, or of ``fused``, back."""
        sizes = [gradient.numel() for gradient in self.gradients]
        for mean in means:
            pieces = torch.split(mean.view(-1)[: sum(sizes)], sizes)
            for gradient, values in zip(self.gradients, pieces, strict=True):
                gradient.copy_(values.view(gradient.shape))
