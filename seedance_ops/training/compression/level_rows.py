"""A row codec of a few levels: each block's scale, and a symbol for each element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

from seedance_ops.training.compression.level_tables import BLOCK, TABLES, LevelCount

if TYPE_CHECKING:
    from seedance_ops.training.compression.level_kernels import LevelKernels

_SCALE_BYTES = 2


class LevelRows:
    """Quantises to the nearest of an odd number of levels around zero, packed as digits.

    A block's scale is sent as bfloat16, and the error is that against the rounded scale. An element that is
    not finite, or a block whose squares overflow, makes the whole block NaN.
    """

    def __init__(self, levels: LevelCount, block: int = BLOCK) -> None:
        self._table = TABLES[levels]
        self._count: LevelCount = levels
        self._block = block
        self._levels = torch.from_numpy(self._table.ascending())
        self._borders = (self._levels[1:] + self._levels[:-1]) / 2

    def row_bytes(self, columns: int) -> int:
        """Digits, ``group`` of them in ``group_bytes``, and two bytes of scale for each block."""
        return self._digit_bytes(columns) + _SCALE_BYTES * self._blocks(columns)

    def encode(self, rows: torch.Tensor) -> torch.Tensor:
        """See ``RowCodec``."""
        columns = rows.shape[1]
        scales = self._scales(rows)
        if rows.device.type == "cpu":
            digits = torch.empty(rows.shape[0], self._digit_bytes(columns), dtype=torch.uint8)
            self._kernels().encode(rows.numpy(), scales.numpy(), self._block, digits.numpy())
        else:
            digits = self._encode_anywhere(rows, scales)
        return torch.cat([scales.bfloat16().view(torch.uint8).view(rows.shape[0], -1), digits], dim=1)

    def decode(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        scales, digits = self._parts(payload, columns)
        if payload.device.type != "cpu":
            return self._decode_anywhere(scales, digits, columns)
        rows = torch.zeros(payload.shape[0], columns, dtype=torch.float32)
        for row in range(payload.shape[0]):
            self._add(scales[row : row + 1], digits[row : row + 1], rows[row])
        return rows

    def sum_of(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        scales, digits = self._parts(payload, columns)
        if payload.device.type != "cpu":
            return self._decode_anywhere(scales, digits, columns).sum(dim=0)
        total = torch.zeros(columns, dtype=torch.float32)
        self._add(scales, digits, total)
        return total

    def _blocks(self, columns: int) -> int:
        return math.ceil(columns / self._block)

    def _digit_bytes(self, columns: int) -> int:
        return math.ceil(columns / self._table.group) * self._table.group_bytes

    def _scales(self, rows: torch.Tensor) -> torch.Tensor:
        """Float32 ``[r, blocks]``, already rounded to bfloat16; NaN where an element is not finite."""
        r, columns = rows.shape
        blocks = self._blocks(columns)
        values = rows if columns % self._block == 0 else pad(rows, (0, blocks * self._block - columns))
        grouped = values.view(r, blocks, self._block)
        largest = grouped.abs().amax(dim=2)
        if self._table.scale == "max":
            scales = largest
        else:
            # The last block may be short: its own number of elements counts.
            counts = torch.full((blocks,), float(self._block), dtype=torch.float32, device=rows.device)
            counts[-1] = columns - (blocks - 1) * self._block
            scales = (grouped.square().sum(dim=2) / counts).sqrt()
        scales = torch.where(torch.isfinite(largest), scales, torch.nan)
        return scales.bfloat16().float()

    def _parts(self, payload: torch.Tensor, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
        at = _SCALE_BYTES * self._blocks(columns)
        scales = payload[:, :at].reshape(-1).view(torch.bfloat16).float().view(len(payload), -1)
        return scales, payload[:, at:].contiguous()

    def _add(self, scales: torch.Tensor, digits: torch.Tensor, out: torch.Tensor) -> None:
        self._kernels().add(digits.numpy(), scales.numpy(), self._block, out.numpy())

    def _kernels(self) -> LevelKernels:
        # Numba takes a second to import: not where a job is merely checked.
        from seedance_ops.training.compression.level_kernels import kernels_of

        return kernels_of(self._count)

    def _encode_anywhere(self, rows: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        """The same bytes in torch's own operations, for devices other than the CPU."""
        r, columns = rows.shape
        table, device = self._table, rows.device
        wide = scales.repeat_interleave(self._block, dim=1)[:, :columns]
        units = torch.where(wide > 0.0, rows / wide, 0.0).nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
        symbols = torch.bucketize(units, self._borders.to(device))
        rows.sub_(self._levels.to(device)[symbols] * wide)
        groups = math.ceil(columns / table.group)
        symbols = pad(symbols, (0, groups * table.group - columns)).view(r, groups, table.group)
        places = table.count ** torch.arange(table.group, device=device)
        numbers = (symbols * places).sum(dim=2)
        shifts = 8 * torch.arange(table.group_bytes, device=device)
        return ((numbers[:, :, None] >> shifts) & 0xFF).to(torch.uint8).view(r, -1)

    def _decode_anywhere(self, scales: torch.Tensor, digits: torch.Tensor, columns: int) -> torch.Tensor:
        r, table, device = digits.shape[0], self._table, digits.device
        shifts = 8 * torch.arange(table.group_bytes, device=device)
        numbers = (digits.view(r, -1, table.group_bytes).long() << shifts).sum(dim=2)
        places = table.count ** torch.arange(table.group, device=device)
        symbols = (numbers[:, :, None] // places % table.count).view(r, -1)[:, :columns]
        wide = scales.repeat_interleave(self._block, dim=1)[:, :columns]
        return self._levels.to(device)[symbols] * wide
