"""Where the parts of an encoded sparse row stand: values, then low bits of the indices, then high bits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Literal

SparseValues = Literal["bf16", "fp16", "int4"]
VALUE_BLOCK = 128
"""Values that share a scale in the ``int4`` code."""
_SCALE_BYTES = 2


def entries_for(size: int, k_ratio: float) -> int:
    """How many of a row's elements are sent: ``ceil(k_ratio · size)``, at least one.

    In decimal arithmetic, since 0.07 · 100 is 7.000000000000001 in binary and would send eight.
    """
    return min(size, max(1, math.ceil(Decimal(str(k_ratio)) * size)))


@dataclass(frozen=True)
class SparseLayout:
    """One encoded row, the same for every row of ``columns`` elements.

    The ascending indices are in Elias-Fano code (Elias 1974, J. ACM 21; Fano 1971): each index's
    ``low_width`` low bits side by side, and for the i-th index, counted from 0, a 1 at bit
    ``(index >> low_width) + i`` of a map. Bits are counted from the lowest of a byte.
    """

    columns: int
    entries: int
    scale_bytes: int
    """Of ``int4`` a bfloat16 for each ``VALUE_BLOCK`` values, of ``fp16`` one for all. They come first."""
    value_bytes: int
    low_width: int

    @property
    def low_at(self) -> int:
        """First byte of the low bits."""
        return self.scale_bytes + self.value_bytes

    @property
    def high_at(self) -> int:
        """First byte of the map of high bits."""
        return self.low_at + _whole_bytes(self.entries * self.low_width)

    @property
    def row_bytes(self) -> int:
        """Bytes of the row."""
        return self.low_at + _index_bytes(self.columns, self.entries, self.low_width)


@cache
def sparse_layout(columns: int, k_ratio: float, values: SparseValues) -> SparseLayout:
    """The layout with the width of low bits that makes the row shortest.

    About ``log₂(columns ÷ entries)`` of them: 8.6 bits an index at 1 %.
    """
    entries = entries_for(columns, k_ratio)
    low_width = min(
        range((columns - 1).bit_length() + 1), key=lambda width: _index_bytes(columns, entries, width)
    )
    if values == "bf16":
        return SparseLayout(columns, entries, 0, 2 * entries, low_width)
    if values == "fp16":
        return SparseLayout(columns, entries, _SCALE_BYTES, 2 * entries, low_width)
    scale_bytes = _SCALE_BYTES * math.ceil(entries / VALUE_BLOCK)
    return SparseLayout(columns, entries, scale_bytes, _whole_bytes(4 * entries), low_width)


def _index_bytes(columns: int, entries: int, low_width: int) -> int:
    high_bits = entries + ((columns - 1) >> low_width)
    return _whole_bytes(entries * low_width) + _whole_bytes(high_bits)


def _whole_bytes(bits: int) -> int:
    return math.ceil(bits / 8)
