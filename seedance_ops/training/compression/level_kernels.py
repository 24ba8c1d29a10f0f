"""The loops of ``LevelRows`` on the CPU, compiled for each table of levels.

The numbers of a table are constants of its loops: the compiler unrolls the inner ones, and loops over the
elements of a block are vectorised. With the numbers as arguments the same loops take five times as long.

What a loop calls is ``register_jitable`` and not ``njit``: numba looks a loop up in its cache by what it
closes over, and a compiled function among that is another one in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from numba import njit
from numba.extending import register_jitable

from seedance_ops.training.compression.level_tables import TABLES, LevelCount

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

_COMPARED_AT_MOST = 16
"""Levels; more of them are evenly spaced."""
_TWO_PARTS = 3
"""Bytes of a number that is looked up in two parts: a table of all its values would leave the cache."""


@dataclass(frozen=True)
class LevelKernels:
    """The two directions of one table of levels."""

    encode: Callable[[Floats, Floats, int, Bytes], None]
    """``encode(rows, scales, block, out)``: write the packed symbols of ``rows`` ``[r, columns]`` to ``out``
    ``[r, ⌈columns ÷ group⌉ · group_bytes]`` and leave the errors in ``rows``. ``scales`` is
    ``[r, blocks]``, one for ``block`` columns."""
    add: Callable[[Bytes, Floats, int, Floats], None]
    """``add(digits, scales, block, out)``: add every decoded row of ``digits`` to ``out`` ``[columns]``, in
    order."""


@cache
def kernels_of(levels: LevelCount) -> LevelKernels:
    """The loops for a table; compiled at their first call, or read from numba's cache."""
    table = TABLES[levels]
    ascending = table.ascending()
    borders = (ascending[1:] + ascending[:-1]) / np.float32(2)
    encode = _encoder(ascending, borders, table.group, table.group_bytes)
    return LevelKernels(encode, _adder(ascending, table.group, table.group_bytes))


def _encoder(
    levels: Floats, borders: Floats, group: int, width: int
) -> Callable[[Floats, Floats, int, Bytes], None]:
    count = len(levels)
    symbols_of = _evenly_spaced(count) if count > _COMPARED_AT_MOST else _compared(borders)
    pack = _packer(count, group, width)

    @njit(cache=True, nogil=True)
    def encode(rows: Floats, scales: Floats, block: int, out: Bytes) -> None:
        columns = rows.shape[1]
        symbols = np.zeros(columns + group, dtype=np.uint8)
        scaled = np.empty(count, dtype=np.float32)
        for r in range(rows.shape[0]):
            for first in range(0, columns, block):
                scale = scales[r, first // block]
                values, found = rows[r, first : first + block], symbols[first : min(first + block, columns)]
                symbols_of(values, scale, found)
                for k in range(count):
                    scaled[k] = levels[k] * scale
                for i in range(len(values)):
                    values[i] -= scaled[found[i]]
            pack(symbols, columns, out[r])

    return encode


def _compared(borders: Floats) -> Callable[[Floats, np.float32, Bytes], None]:
    """Symbols by comparing with every border: branchless, for a few."""
    count = len(borders)
    zero = count // 2

    @register_jitable
    def symbols_of(values: Floats, scale: np.float32, symbols: Bytes) -> None:
        if not scale > 0.0:
            symbols[:] = zero
            return
        for i in range(len(values)):
            symbol = 0
            for k in range(count):
                symbol += values[i] > borders[k] * scale
            symbols[i] = symbol

    return symbols_of


def _evenly_spaced(count: int) -> Callable[[Floats, np.float32, Bytes], None]:
    """Symbols by rounding, for many levels."""
    zero = count // 2
    one, half, top = np.float32(1.0), np.float32(zero + 0.5), np.float32(2 * zero)

    @register_jitable
    def symbols_of(values: Floats, scale: np.float32, symbols: Bytes) -> None:
        if not scale > 0.0:
            symbols[:] = zero
            return
        steps = np.float32(zero) * (one / scale)
        for i in range(len(values)):
            symbols[i] = np.uint8(np.int32(min(max(values[i] * steps + half, np.float32(0.0)), top)))

    return symbols_of


def _packer(count: int, group: int, width: int) -> Callable[[Bytes, int, Bytes], None]:
    # Of 32 bits: the compiler would otherwise count in 64, and handle half as many elements at once.
    base, byte, low = np.uint32(count), np.uint32(8), np.uint32(255)

    @register_jitable
    def pack(symbols: Bytes, columns: int, out: Bytes) -> None:
        at = 0
        for first in range(0, columns, group):
            number = np.uint32(0)
            for place in range(group - 1, -1, -1):
                number = number * base + np.uint32(symbols[first + place])
            for _ in range(width):
                out[at] = number & low
                number >>= byte
                at += 1

    return pack


def _adder(levels: Floats, group: int, width: int) -> Callable[[Bytes, Floats, int, Floats], None]:
    parts = 2 if width == _TWO_PARTS else 1
    in_part = group // parts
    last = len(levels) ** in_part - 1
    decoded = _decoded_numbers(levels, in_part)
    base = np.uint32(last + 1)

    @njit(cache=True, nogil=True)
    def add(digits: Bytes, scales: Floats, block: int, out: Floats) -> None:
        columns = len(out)
        units = np.empty(columns + group, dtype=np.float32)
        for r in range(digits.shape[0]):
            at = 0
            for first in range(0, columns, group):
                number = np.uint32(0)
                for place in range(width):
                    number |= np.uint32(digits[r, at]) << np.uint32(8 * place)
                    at += 1
                for part in range(parts):
                    # A stray byte must not be looked up beyond the table.
                    entry = min(number % base if part < parts - 1 else number, np.uint32(last))
                    number //= base
                    for place in range(in_part):
                        units[first + part * in_part + place] = decoded[entry, place]
            for first in range(0, columns, block):
                scale = scales[r, first // block]
                for column in range(first, min(first + block, columns)):
                    out[column] += units[column] * scale

    return add


def _decoded_numbers(levels: Floats, symbols: int) -> Floats:
    """The levels of every number of that many symbols, ``[count^symbols, symbols]``, lowest digit first."""
    numbers = np.arange(len(levels) ** symbols)[:, None]
    digits = numbers // len(levels) ** np.arange(symbols) % len(levels)
    return np.ascontiguousarray(levels[digits])
