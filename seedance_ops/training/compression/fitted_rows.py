"""A row codec that makes its step as fine as a budget of bits pays for."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_HEADER_BYTES = 8
"""As in ``fitted_kernels``, which takes a second to import: not where a job is merely checked."""
_SPARE_BITS = 7
"""Signs end in a whole byte."""


class FittedRows:
    """Rounds a whole row to multiples of one step, and codes them by how often they occur.

    No element misses more than 0.6 of the step. A quantiser of few levels cannot send what is many times the
    mean, so that residuals of heavy-tailed gradients grow; here such an element merely takes more bits, for
    which all others are rounded a little more coarsely. Entropy-coded scalar quantisation comes within a
    quarter of a bit of the best there is (Gish and Pierce 1968, IEEE Trans. IT-14). A row that holds a value
    that is not finite is NaN.
    """

    def __init__(self, bits_per_element: float) -> None:
        """``bits_per_element``: 2 or more, so that of any row something is sent."""
        assert bits_per_element >= 2.0
        self._bits_per_element = bits_per_element

    def row_bytes(self, columns: int) -> int:
        """The budget, and a header."""
        return _HEADER_BYTES + math.ceil((self._bits_per_element * columns + _SPARE_BITS) / 8)

    def encode(self, rows: torch.Tensor) -> torch.Tensor:
        """See ``RowCodec``."""
        if rows.device.type != "cpu":
            return self._encode_anywhere(rows)
        from seedance_ops.training.compression import fitted_kernels as kernels

        payload = torch.zeros(len(rows), self.row_bytes(rows.shape[1]), dtype=torch.uint8)
        codes = torch.empty(rows.shape[1], dtype=torch.int32).numpy()
        for row, out in zip(rows.numpy(), payload.numpy(), strict=True):
            counts = torch.zeros(kernels.BINS, dtype=torch.int64).numpy()
            kernels.count_magnitudes(row, counts)
            kernels.encode_row(row, self._step(counts, len(row)), codes, out)
        return payload

    def decode(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        rows = torch.zeros(len(payload), columns, device=payload.device)
        for own, out in zip(payload, rows, strict=True):
            _add(own, out)
        return rows

    def sum_of(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        total = torch.zeros(columns, device=payload.device)
        for own in payload:
            _add(own, total)
        return total

    def _step(self, counts: npt.NDArray[np.int64], columns: int) -> np.float32:
        """In single precision, as loops and readers count; numba returns a double."""
        import numpy as np

        from seedance_ops.training.compression.fitted_kernels import fitting_step

        bits = 8 * (self.row_bytes(columns) - _HEADER_BYTES) - _SPARE_BITS
        return np.float32(fitting_step(counts, bits))

    def _encode_anywhere(self, rows: torch.Tensor) -> torch.Tensor:
        """The same bytes in torch's own operations, for devices other than the CPU."""
        from seedance_ops.training.compression.fitted_kernels import BIN_SHIFT, BINS, ROUND_UP_FROM

        size = self.row_bytes(rows.shape[1])
        payload = torch.zeros(len(rows), size, dtype=torch.uint8, device=rows.device)
        for row, out in zip(rows, payload, strict=True):
            bins = (row.view(torch.int32) & 0x7FFFFFFF) >> BIN_SHIFT
            counts = torch.bincount(bins, minlength=BINS).cpu().numpy()
            step = torch.tensor(float(self._step(counts, len(row))), dtype=torch.float32, device=row.device)
            out[:4] = step.view(1).view(torch.uint8)
            if not abs(step) > 0.0:
                continue
            magnitudes = (row.abs() * abs(step).reciprocal() + (1.0 - float(ROUND_UP_FROM))).int()
            sent = magnitudes > 0
            signs = _packed(row[sent] < 0.0)
            out[4:_HEADER_BYTES] = sent.sum(dtype=torch.int32).view(1).view(torch.uint8)
            out[_HEADER_BYTES : _HEADER_BYTES + len(signs)] = signs
            ends = (_swapped(magnitudes, step) + 1).cumsum(0)
            unary = torch.ones(int(ends[-1]), dtype=torch.bool, device=row.device)
            unary[ends - 1] = False
            coded = _packed(unary)
            first = _HEADER_BYTES + len(signs)
            out[first : first + len(coded)] = coded
            row.sub_(torch.where(row < 0.0, -magnitudes, magnitudes) * abs(step))
        return payload


def _add(payload: torch.Tensor, out: torch.Tensor) -> None:
    """Add a decoded row to ``out``."""
    if payload.device.type == "cpu":
        from seedance_ops.training.compression.fitted_kernels import add_row

        add_row(payload.numpy(), _table(), out.numpy())
    else:
        _add_anywhere(payload, out)


def _add_anywhere(payload: torch.Tensor, out: torch.Tensor) -> None:
    step = payload[:4].clone().view(torch.float32)[0]
    if step == 0.0:
        return
    if not abs(step) > 0.0:
        out.fill_(torch.nan)
        return
    signs = int(payload[4:_HEADER_BYTES].clone().view(torch.int32)[0])
    first = _HEADER_BYTES + math.ceil(signs / 8)
    ends = _unpacked(payload[first:]).logical_not().nonzero().view(-1)[: len(out)]
    codes = torch.diff(ends, prepend=ends.new_full((1,), -1)) - 1
    magnitudes = _swapped(codes.int(), step)
    values = magnitudes * abs(step)
    sent = magnitudes > 0
    negative = _unpacked(payload[_HEADER_BYTES:first])[:signs]
    values[sent] = torch.where(negative, -values[sent], values[sent])
    out.add_(values)


def _swapped(magnitudes: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    """Zeros for ones and ones for zeros where the step's sign says so; there and back."""
    return torch.where((magnitudes <= 1) & (step < 0.0), 1 - magnitudes, magnitudes)


def _packed(bits: torch.Tensor) -> torch.Tensor:
    """Eight to a byte, lowest first."""
    padded = torch.nn.functional.pad(bits, (0, -len(bits) % 8)).view(-1, 8)
    return (padded * _places(bits.device)).sum(dim=1).to(torch.uint8)


def _unpacked(payload: torch.Tensor) -> torch.Tensor:
    return (payload[:, None] & _places(payload.device)).bool().view(-1)


def _places(device: torch.device) -> torch.Tensor:
    return 1 << torch.arange(8, dtype=torch.uint8, device=device)


@cache
def _table() -> npt.NDArray[np.uint8]:
    from seedance_ops.training.compression.fitted_kernels import unary_table

    return unary_table()
