"""Each matrix's gradient as the product of two thin matrices, by one power iteration a step.

Vogels, Karimireddy, Jaggi, "PowerSGD" (NeurIPS 2019); the iteration goes on from the last step's basis.
torch's own hook is not used: its second collective is chained on the first, which hangs on gloo with two
buckets. The thin matrices travel in 8 bits with a scale for 32 neighbours of a column.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import FP32_BYTES, Bucket, Reduction
from seedance_ops.training.compression.finite import all_finite
from seedance_ops.training.compression.level_rows import LevelRows
from seedance_ops.training.compression.on_lane import OnLane
from seedance_ops.training.compression.owner_mean import Part, owner_mean, owner_mean_bytes
from seedance_ops.training.compression.owner_rows import TURN, columns_of, from_rows, to_rows
from seedance_ops.training.compression.small_tensors import SmallTensors, is_compressed, small_row_bytes

_FACTOR = LevelRows(255, block=TURN)
_FACTOR_BYTES = 1.0 + 2.0 / TURN
"""Of an element of a thin matrix: 8 bits, and its share of a scale."""


@dataclass(frozen=True)
class Width:
    """How many columns the thin matrices of a matrix have."""

    rank: int | None
    """A fixed number, or as many as ``byte_share`` pays for."""
    byte_share: float
    """Of the matrix's fp32 bytes."""

    def of(self, shape: Sequence[int]) -> int:
        """0 where the matrix is not compressed: it is small, or would hardly become smaller."""
        if not is_compressed(shape):
            return 0
        rows, columns = _sides(shape)
        largest = rows * columns * FP32_BYTES / ((rows + columns) * _FACTOR_BYTES)
        if self.rank is None:
            return min(max(1, int(largest * self.byte_share)), rows, columns)
        return self.rank if self.rank <= min(rows, columns, largest / 4) else 0


class PowerSgd(OnLane):
    """Low-rank averaging with error feedback."""

    name = "powersgd"

    def __init__(self, width: Width, *, error_feedback: bool = True) -> None:
        super().__init__(_FACTOR)
        self._width = width
        self._error_feedback = error_feedback

    def reduce(self, bucket: Bucket) -> Reduction:
        """Queue the bucket's four collectives: two for each of the two thin matrices."""
        buffer = bucket.buffer()
        named = [
            (self._bound.names[id(parameter)], gradient)
            for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True)
        ]
        small = SmallTensors([gradient for _, gradient in named if not self._width.of(gradient.shape)])
        large = [pair for pair in named if self._width.of(pair[1].shape)]

        def work(group: dist.ProcessGroup) -> tuple[torch.Tensor, int]:
            matrices = [self._corrected(name, gradient) for name, gradient in large]
            thin = [
                matrix @ self._basis(name, gradient)
                for (name, gradient), matrix in zip(large, matrices, strict=True)
            ]
            lefts, sent = _mean_of(thin, small, group)
            bases = [_orthonormal(left.mean) for left in lefts]
            thin = [matrix.T @ basis for matrix, basis in zip(matrices, bases, strict=True)]
            rights, sent_too = _mean_of(thin, SmallTensors([]), group)
            for (name, gradient), matrix, basis, right in zip(large, matrices, bases, rights, strict=True):
                gradient.copy_((basis @ right.mean.T).view(gradient.shape))
                self._residuals.keep(right.mean, f"basis.{name}")
                if self._error_feedback:
                    # Against what this rank sent, not against the mean: the difference of two ranks'
                    # gradients would add up for ever, and with it the scale by which both are rounded.
                    matrix.addmm_(basis, right.accounted_for.T, alpha=-1.0)
                    self._residuals.keep(matrix, f"worker.{name}")
            return buffer, sent + sent_too

        return self._submit(bucket, work)

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """Of each matrix ``rank · (rows + columns)`` elements in 8.5 bits, in two messages like a ring's."""
        total = 0
        for shape in shapes:
            rank = self._width.of(shape)
            for side in _sides(shape) if rank else ():
                total += _FACTOR.row_bytes(columns_of(rank * side, world_size))
        small = [shape for shape in shapes if not self._width.of(shape)]
        return owner_mean_bytes(total + small_row_bytes(small, world_size), world_size)

    def _corrected(self, name: str, gradient: torch.Tensor) -> torch.Tensor:
        """Gradient and residual as one new matrix."""
        matrix = gradient.reshape(gradient.shape[0], -1).to(torch.float32, copy=True)
        if self._error_feedback:
            self._residuals.add_to(matrix, f"worker.{name}")
        return matrix

    def _basis(self, name: str, gradient: torch.Tensor) -> torch.Tensor:
        """Orthonormal columns to start from: the last step's, or random ones, alike on every rank."""
        kept = self._residuals.get(f"basis.{name}")
        if kept is None:
            generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
            _, columns = _sides(gradient.shape)
            width = self._width.of(gradient.shape)
            kept = torch.randn(columns, width, generator=generator, dtype=torch.float32)
        return _orthonormal(kept.to(gradient.device))


def _sides(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of a parameter taken as a matrix."""
    return shape[0], torch.Size(shape).numel() // shape[0]


def _orthonormal(matrix: torch.Tensor) -> torch.Tensor:
    """An orthonormal basis of the columns; of NaN where the matrix is not finite."""
    if not all_finite(matrix):
        return torch.full_like(matrix, torch.nan)
    basis: torch.Tensor = torch.linalg.qr(matrix).Q
    return basis


@dataclass(frozen=True)
class _Thin:
    """A thin matrix, averaged."""

    mean: torch.Tensor
    """The same on every rank."""
    accounted_for: torch.Tensor
    """This rank's part of the mean: summed over ranks, ``n`` times the mean. It is what the rank sent, less
    ``n`` times what it left out as the owner of some of the elements."""


def _mean_of(
    thin: Sequence[torch.Tensor], small: SmallTensors, group: dist.ProcessGroup
) -> tuple[list[_Thin], int]:
    """Each thin matrix, column by column in the message; and the mean of the small tensors, written back."""
    parts = []
    for matrix in thin:
        rows = to_rows(matrix.T, group.size())
        parts.append(Part(rows, _FACTOR, torch.zeros(rows.shape[1], dtype=torch.float32, device=rows.device)))
    fused = small.parts(group.size())
    if not parts and not fused:
        return [], 0
    means, sent = owner_mean([*parts, *fused], group)
    small.take(means[len(parts) :])
    result = []
    for matrix, part, mean in zip(thin, parts, means[: len(parts)], strict=True):
        left_out = part.rows
        left_out[group.rank()] += group.size() * part.owned
        result.append(_Thin(_matrix_of(mean, matrix.shape), matrix - _matrix_of(left_out, matrix.shape)))
    return result, sent


def _matrix_of(rows: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """A thin matrix of the rows of its transpose."""
    transposed = torch.empty(shape[1], shape[0], dtype=torch.float32, device=rows.device)
    from_rows(rows, transposed)
    return transposed.T.contiguous()
