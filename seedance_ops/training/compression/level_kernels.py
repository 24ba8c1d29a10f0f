"""The loops of ``LevelRows`` on the CPU, compiled: one pass over the row instead of a dozen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]


@njit(cache=True, nogil=True)
def encode_digits(  # noqa: PLR0917 - compiled functions take no dataclass
    rows: Floats,
    scales: Floats,
    levels: Floats,
    borders: Floats,
    block: int,
    group: int,
    width: int,
    out: Bytes,
) -> None:
    """Write the packed symbols of ``rows`` to ``out`` and leave the errors in ``rows``.

    Args:
        rows: ``[r, columns]``.
        scales: ``[r, blocks]``, one for ``block`` columns.
        levels: All levels, ascending, in units of the scale.
        borders: Between neighbouring levels.
        block: Columns that share a scale.
        group: Symbols in one number, the first of them its lowest digit.
        width: Bytes of that number, the lowest first.
        out: ``[r, ⌈columns ÷ group⌉ · width]``.
    """
    columns, count, zero = rows.shape[1], len(levels), len(levels) // 2
    symbols = np.empty(columns, dtype=np.uint8)
    for r in range(rows.shape[0]):
        for first in range(0, columns, block):
            scale = scales[r, first // block]
            last = min(first + block, columns)
            _symbols_of(rows[r, first:last], scale, borders, zero, symbols[first:last])
            for column in range(first, last):
                rows[r, column] -= levels[symbols[column]] * scale
        at = 0
        for first in range(0, columns, group):
            number, place = 0, 1
            for column in range(first, min(first + group, columns)):
                number += symbols[column] * place
                place *= count
            for _ in range(width):
                out[r, at] = number & 0xFF
                number >>= 8
                at += 1


@njit(cache=True, nogil=True)
def _symbols_of(values: Floats, scale: float, borders: Floats, zero: int, out: Bytes) -> None:
    """One block's symbols. A loop over all elements for each border: that is what the compiler vectorises."""
    if not scale > 0.0:
        out[:] = zero
        return
    if len(borders) > 16:
        # Too many borders to go through, and evenly spaced.
        for i in range(len(values)):
            out[i] = int(min(max(np.rint(values[i] / scale * zero), -zero), zero)) + zero
        return
    out[:] = 0
    for border in borders:
        edge = border * scale
        for i in range(len(values)):
            out[i] += values[i] > edge


@njit(cache=True, nogil=True)
def add_digits(  # noqa: PLR0917
    digits: Bytes, scales: Floats, levels: Floats, block: int, group: int, width: int, out: Floats
) -> None:
    """Add every decoded row of ``digits`` to ``out`` ``[columns]``, in order; see ``encode_digits``."""
    count = len(levels)
    for r in range(digits.shape[0]):
        at = 0
        for first in range(0, len(out), group):
            number = 0
            for byte in range(width):
                number += int(digits[r, at]) << (8 * byte)
                at += 1
            for column in range(first, min(first + group, len(out))):
                symbol = number % count
                number //= count
                # A stray digit cannot be read: the highest number of a group has fewer than count^group.
                out[column] += levels[symbol] * scales[r, column // block]
