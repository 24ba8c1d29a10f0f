"""The loops of ``SparseRows`` on the CPU, compiled: select, pack and subtract row by row.

A float32's bits without its sign, read as an integer, are in the order of magnitudes: zero, then the
subnormal ones, the normal ones, infinity, and NaN as the largest. So magnitudes are compared as integers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from seedance_ops.training.compression.sparse_layout import VALUE_BLOCK

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

_MAGNITUDE = np.int32(0x7FFFFFFF)
_INFINITY = 0x7F800000
_FP16_LARGEST = np.float32(2**15 - 16)
_FP16_EXPONENT = 14
_FP16_NORMAL = 113 << 23
"""Bits of 2⁻¹⁴ in float32: below, binary16 is in steps of 2⁻²⁴."""
_FP16_STEP = np.float32(2.0**-24)
_SAMPLE = 4096
_BIN_BITS = 19
"""Bits of a magnitude that a bin of the histogram leaves out: bins 3 to 6 % wide."""
_BINS = 1 << (31 - _BIN_BITS)
_BLOCK = 16
"""Elements looked at together: one register of 512 bits."""


@njit(cache=True, nogil=True)
def encode_sparse(  # noqa: PLR0917 - compiled functions take no dataclass
    rows: Floats, bits: Ints, entries: int, value_at: int, low_at: int, high_at: int, width: int, out: Bytes
) -> None:
    """Write the encoded ``rows`` to ``out`` and leave the errors in ``rows``.

    Args:
        rows: ``[r, columns]``.
        bits: The same memory as ``rows``, as integers.
        entries: Elements sent of a row.
        value_at: First byte of the values: 0 in ``bf16``. Else scales precede, of ``fp16`` where the values
            have two bytes each, of ``int4`` where two share one.
        low_at: First byte of the indices' low bits.
        high_at: First byte of the map of high bits.
        width: Low bits of an index.
        out: ``[r, row_bytes]``.
    """
    candidates = np.empty(rows.shape[1], dtype=np.int32)
    value_bits = np.empty(entries, dtype=np.int32)
    values = value_bits.view(np.float32)
    for r in range(rows.shape[0]):
        found = select_largest(bits[r], entries, candidates)
        indices = candidates[:entries]
        for i in range(entries):
            values[i] = rows[r, indices[i]] if i < found else 0.0
        if value_at == 0:
            _write_bf16(value_bits, out[r, :low_at])
        elif low_at - value_at == 2 * entries:
            _write_fp16(values, value_bits, out[r, :value_at], out[r, value_at:low_at])
        else:
            _write_int4(values, value_bits, out[r, :value_at], out[r, value_at:low_at])
        _write_indices(indices, width, out[r, low_at:high_at], out[r, high_at:])
        for i in range(entries):
            rows[r, indices[i]] -= values[i]


@njit(cache=True, nogil=True)
def add_sparse(  # noqa: PLR0917
    payload: Bytes, entries: int, value_at: int, low_at: int, high_at: int, width: int, out: Floats
) -> None:
    """Add every decoded row of ``payload`` to its row of ``out``, or to ``out``'s only one, in order.

    Raises:
        ValueError: for bytes that no row encodes to; nothing outside ``out`` is touched.
    """
    value_bits = np.empty(entries, dtype=np.int32)
    values = value_bits.view(np.float32)
    for r in range(payload.shape[0]):
        if value_at == 0:
            _read_bf16(payload[r, :low_at], value_bits)
        elif low_at - value_at == 2 * entries:
            _read_fp16(payload[r, :value_at], payload[r, value_at:low_at], values)
        else:
            _read_int4(payload[r, :value_at], payload[r, value_at:low_at], values)
        _add(payload[r, low_at:high_at], payload[r, high_at:], width, values, out[r % len(out)])


@njit(cache=True, nogil=True)
def select_largest(bits: Ints, entries: int, out: Ints) -> int:
    """Ascending indices of the ``entries`` elements of largest magnitude in ``out``; of equal ones the first.

    Args:
        bits: One row's float32 elements, as integers.
        entries: At most ``len(bits)``.
        out: As long as ``bits``.

    Returns:
        How many were found. Zeros are not: ``out[found:entries]`` repeats the last index.
    """
    counts, sampled = _histogram(bits)
    wanted = entries * sampled / len(bits)
    if sampled < len(bits):
        # Three standard deviations more than expected, so that seldom too few pass.
        wanted += 3.0 * np.sqrt(wanted) + 1.0
    found = 0
    for _ in range(3):
        threshold = _lower_edge(counts, wanted)
        found = _at_least(bits, threshold, out)
        if found >= entries or threshold == 1:
            break
        wanted = 4.0 * wanted if wanted < sampled / 4 else np.inf
    if found > entries:
        _truncate(bits, entries, out[:found])
        found = entries
    out[found:entries] = out[found - 1] if found > 0 else 0
    return found


@njit(cache=True, nogil=True)
def _histogram(bits: Ints) -> tuple[Ints, int]:
    """Counts by exponent and first bits of the mantissa, and how many elements they are of.

    Of one element in each of ``_SAMPLE`` equal stretches; of a short row, of all. Where in its stretch
    differs, since a fixed stride would stay within some columns of a matrix.
    """
    counts = np.zeros(_BINS, dtype=np.int32)
    size = len(bits)
    if size <= 2 * _SAMPLE:
        for i in range(size):
            counts[(bits[i] & _MAGNITUDE) >> _BIN_BITS] += 1
        return counts, size
    stretch = size // _SAMPLE
    for i in range(_SAMPLE):
        # Knuth's multiplicative hash.
        at = i * stretch + (((i * 2654435761) & 0xFFFFFFFF) * stretch >> 32)
        counts[(bits[at] & _MAGNITUDE) >> _BIN_BITS] += 1
    return counts, _SAMPLE


@njit(cache=True, nogil=True)
def _lower_edge(counts: Ints, wanted: float) -> int:
    """The largest bin's edge that ``wanted`` elements reach; 1, which all but zeros do, where none is."""
    reached = 0
    for bin_ in range(len(counts) - 1, 0, -1):
        reached += counts[bin_]
        if reached >= wanted:
            return bin_ << _BIN_BITS
    return 1


@njit(cache=True, nogil=True)
def _at_least(bits: Ints, threshold: int, out: Ints) -> int:
    """Indices of all magnitudes not below ``threshold``; how many."""
    limit = np.int32(threshold)
    size, found = len(bits), 0
    whole = size - size % _BLOCK
    for first in range(0, whole, _BLOCK):
        passed = np.int32(0)
        for i in range(first, first + _BLOCK):
            passed |= np.int32((bits[i] & _MAGNITUDE) >= limit)
        if passed:
            for i in range(first, first + _BLOCK):
                out[found] = i
                found += (bits[i] & _MAGNITUDE) >= limit
    for i in range(whole, size):
        out[found] = i
        found += (bits[i] & _MAGNITUDE) >= limit
    return found


@njit(cache=True, nogil=True)
def _truncate(bits: Ints, entries: int, candidates: Ints) -> None:
    """Keep the ``entries`` largest, at the front."""
    magnitudes = np.empty(len(candidates), dtype=np.int32)
    counts = np.zeros(_BINS, dtype=np.int32)
    for i in range(len(candidates)):
        magnitudes[i] = bits[candidates[i]] & _MAGNITUDE
        counts[magnitudes[i] >> _BIN_BITS] += 1
    limit = _nth_largest(magnitudes, entries, _lower_edge(counts, entries) >> _BIN_BITS)
    ties = entries - np.sum(magnitudes > limit)
    kept = 0
    for i in range(len(candidates)):
        tied = (magnitudes[i] == limit) & (ties > 0)
        candidates[kept] = candidates[i]
        kept += tied | (magnitudes[i] > limit)
        ties -= tied


@njit(cache=True, nogil=True)
def _nth_largest(magnitudes: Ints, n: int, bin_: int) -> int:
    """The n-th largest, which is known to be in ``bin_``: only those of that bin are put in order."""
    inside = np.empty(len(magnitudes), dtype=np.int32)
    found = 0
    for i in range(len(magnitudes)):
        own = magnitudes[i] >> _BIN_BITS
        inside[found] = magnitudes[i]
        found += own == bin_
        n -= own > bin_
    nth: int = np.partition(inside[:found], found - n)[found - n]
    return nth


@njit(cache=True, nogil=True)
def _bf16_of(bits: int) -> int:
    """Upper half of a float32's bits after rounding to nearest, ties to even, as torch does."""
    if bits & 0x7FFFFFFF > _INFINITY:
        return 0x7FC0
    pattern = bits & 0xFFFFFFFF
    return ((pattern + 0x7FFF + ((pattern >> 16) & 1)) >> 16) & 0xFFFF


@njit(cache=True, nogil=True)
def _put_half(half: int, bytes_: Bytes, i: int) -> None:
    bytes_[2 * i] = half & 0xFF
    bytes_[2 * i + 1] = half >> 8


@njit(cache=True, nogil=True)
def _half_at(bytes_: Bytes, i: int) -> np.int32:
    """The float32's bits of the i-th bfloat16."""
    return np.int32((np.uint32(bytes_[2 * i]) << 16) | (np.uint32(bytes_[2 * i + 1]) << 24))


@njit(cache=True, nogil=True)
def _write_bf16(value_bits: Ints, out: Bytes) -> None:
    """Round the values in place to what ``out`` says."""
    for i in range(len(value_bits)):
        _put_half(_bf16_of(value_bits[i]), out, i)
        value_bits[i] = _half_at(out, i)


@njit(cache=True, nogil=True)
def _read_bf16(payload: Bytes, value_bits: Ints) -> None:
    for i in range(len(value_bits)):
        value_bits[i] = _half_at(payload, i)


@njit(cache=True, nogil=True)
def _write_fp16(values: Floats, value_bits: Ints, scale_out: Bytes, out: Bytes) -> None:
    """Binary16 in units of a power of two that brings the largest to between 2¹⁴ and 2¹⁵: none overflows."""
    out[:] = 0
    scale_bits = np.empty(1, dtype=np.int32)
    scale = scale_bits.view(np.float32)
    largest = np.max(value_bits & _MAGNITUDE)
    # Exponents are counted from the smallest of a normal float32, which is 1.
    scale_bits[0] = max((largest >> 23) - _FP16_EXPONENT, 1) << 23
    if largest >= _INFINITY:
        scale_bits[0] = 0x7FC00000
    _put_half(_bf16_of(scale_bits[0]), scale_out, 0)
    if largest < _INFINITY:
        unit_bits = np.empty(1, dtype=np.int32)
        unit = unit_bits.view(np.float32)
        for i in range(len(values)):
            unit[0] = min(max(values[i] / scale[0], -_FP16_LARGEST), _FP16_LARGEST)
            _put_half(_fp16_of(unit_bits[0], unit[0]), out, i)
    _read_fp16(scale_out, out, values)


@njit(cache=True, nogil=True)
def _read_fp16(scale_in: Bytes, payload: Bytes, values: Floats) -> None:
    bits = np.empty(2, dtype=np.int32)
    floats = bits.view(np.float32)
    bits[0] = _half_at(scale_in, 0)
    for i in range(len(values)):
        half = int(payload[2 * i]) | (int(payload[2 * i + 1]) << 8)
        magnitude = half & 0x7FFF
        if magnitude < 0x400:
            floats[1] = np.float32(magnitude) * _FP16_STEP
        else:
            bits[1] = (magnitude << 13) + (112 << 23)
        values[i] = (-floats[1] if half & 0x8000 else floats[1]) * floats[0]


@njit(cache=True, nogil=True)
def _fp16_of(bits: int, value: float) -> int:
    """The bits of a value in the range of binary16, rounded to nearest, ties to even."""
    sign = (bits >> 16) & 0x8000
    magnitude = bits & 0x7FFFFFFF
    if magnitude < _FP16_NORMAL:
        return sign | int(np.rint(abs(value) / _FP16_STEP))
    return sign | ((magnitude + 0xFFF + ((magnitude >> 13) & 1) - (112 << 23)) >> 13)


@njit(cache=True, nogil=True)
def _write_int4(values: Floats, value_bits: Ints, scales: Bytes, out: Bytes) -> None:
    """Seven levels on either side of zero; two's complement, the first of two values in the low half."""
    out[:] = 0
    scale_bits = np.empty(1, dtype=np.int32)
    scale = scale_bits.view(np.float32)
    for first in range(0, len(values), VALUE_BLOCK):
        last = min(first + VALUE_BLOCK, len(values))
        scale_bits[0] = np.max(value_bits[first:last] & _MAGNITUDE)
        scale[0] /= np.float32(7.0)
        _put_half(_bf16_of(scale_bits[0]), scales, first // VALUE_BLOCK)
        scale_bits[0] = _half_at(scales, first // VALUE_BLOCK)
        usable = 0 < scale_bits[0] < _INFINITY
        for i in range(first, last):
            level = 0
            if usable:
                level = int(min(max(np.rint(values[i] / scale[0]), -7.0), 7.0))
            out[i // 2] |= (level & 0xF) << (4 * (i % 2))
            values[i] = np.float32(level) * scale[0]


@njit(cache=True, nogil=True)
def _read_int4(scales: Bytes, payload: Bytes, values: Floats) -> None:
    scale_bits = np.empty(1, dtype=np.int32)
    scale = scale_bits.view(np.float32)
    for i in range(len(values)):
        if i % VALUE_BLOCK == 0:
            scale_bits[0] = _half_at(scales, i // VALUE_BLOCK)
        level = (int(payload[i // 2]) >> (4 * (i % 2))) & 0xF
        values[i] = np.float32(level - 16 if level > 7 else level) * scale[0]


@njit(cache=True, nogil=True)
def _write_indices(indices: Ints, width: int, low: Bytes, high: Bytes) -> None:
    """The Elias-Fano code of ``SparseLayout``."""
    high[:] = 0
    held, held_bits, at = 0, 0, 0
    mask = (1 << width) - 1
    for i in range(len(indices)):
        index = int(indices[i])
        bit = (index >> width) + i
        high[bit >> 3] |= 1 << (bit & 7)
        held |= (index & mask) << held_bits
        held_bits += width
        while held_bits >= 8:
            low[at] = held & 0xFF
            held >>= 8
            held_bits -= 8
            at += 1
    if held_bits > 0:
        low[at] = held


@njit(cache=True, nogil=True)
def _add(low: Bytes, high: Bytes, width: int, values: Floats, out: Floats) -> None:
    """Add the values at the indices that ``_write_indices`` wrote."""
    held, held_bits, at, i = 0, 0, 0, 0
    mask = (1 << width) - 1
    for byte in range(len(high)):
        ones = int(high[byte])
        bit = 8 * byte
        while ones:
            if ones & 1:
                while held_bits < width:
                    held |= int(low[at]) << held_bits
                    held_bits += 8
                    at += 1
                index = ((bit - i) << width) | (held & mask)
                if i >= len(values) or index >= len(out):
                    raise ValueError("the payload is not that of a sparse row of this length")
                out[index] += values[i]
                held >>= width
                held_bits -= width
                i += 1
            ones >>= 1
            bit += 1
    if i < len(values):
        raise ValueError("the payload is not that of a sparse row of this length")
