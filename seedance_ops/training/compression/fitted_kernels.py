"""The loops of ``FittedRows`` on the CPU.

A row is a step, a number of signs, the signs of what is not zero, and the magnitudes in unary: as many ones
as an element has steps, then a zero. Of the Laplace distribution at two to three bits an element that is
within 3 % of the entropy.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]
Magnitudes = npt.NDArray[np.int32]

BIN_SHIFT = 19
"""Of a float32's bits: a bin for each sixteenth of an octave."""
BINS = 1 << (31 - BIN_SHIFT)
FIRST_NOT_FINITE = 255 << (23 - BIN_SHIFT)
HEADER_BYTES = 8
"""A float32 step and a uint32 number of signs."""
ROUND_UP_FROM = np.float32(0.6)
"""Of a step: zeros are cheap, so what is barely half a step is left to the next message. Of 0.5, 0.6 and 0.66
it leaves out least at 2.4 bits."""
_FINENESS = 1 << 13
"""How close to the budget: a tenth of a percent of the step."""
_WORD = 32
_OCTAVE = 1 << 23
_OCTAVES = 40
"""No budget pays for a step that is finer than the largest element by so many."""
_FIRST_NORMAL = _OCTAVE >> BIN_SHIFT
_LARGEST = (255 << 23) - 1
_LARGEST_FLOAT = np.finfo(np.float32).max


@njit(cache=True, nogil=True)
def count_magnitudes(row: Floats, counts: Counts) -> None:
    """Count a row's elements by magnitude, ``counts`` ``[BINS]``; what is not finite in the last bins."""
    bits = row.view(np.uint32)
    for i in range(len(bits)):
        counts[(bits[i] & np.uint32(0x7FFFFFFF)) >> np.uint32(BIN_SHIFT)] += 1


@njit(cache=True, nogil=True)
def fitting_step(counts: Counts, budget_bits: int) -> np.float32:
    """The finest step with which a row so counted takes no more bits; NaN if not finite; 0 for zeros.

    Negative where ones are to have the code of zeros, and zeros that of ones: for a row whose elements are
    all of about one size. With that an element of no more than one step takes two bits, so that with a budget
    of two bits an element something is always sent. Every element counts as the largest of its bin: the row
    fits whatever it holds.
    """
    for k in range(FIRST_NOT_FINITE, BINS):
        if counts[k]:
            return np.float32(np.nan)
    low, high = BINS, -1
    for k in range(FIRST_NOT_FINITE):
        if counts[k]:
            low, high = min(low, k), k
    if high < _FIRST_NORMAL:  # nothing but zeros, and what is too small to be divided by
        return np.float32(0.0)
    edges = ((np.arange(low, high + 1) << BIN_SHIFT) | ((1 << BIN_SHIFT) - 1)).astype(np.uint32)
    found, edge = counts[low : high + 1], edges.view(np.float32)
    largest = int(edges[-1])
    swapped = _finest(found, edge, largest, budget_bits, 1)
    plain = _finest(found, edge, min(largest + _OCTAVE, _LARGEST), budget_bits, 0)
    return plain if 0.0 < plain <= swapped else -swapped


@njit(cache=True, nogil=True)
def _finest(found: Counts, edge: Floats, coarsest: int, budget_bits: int, swap: int) -> np.float32:
    """Up to the step whose bits are ``coarsest``; 0 where not even that fits."""
    pattern = np.array([coarsest], dtype=np.uint32)
    step = pattern.view(np.float32)
    if not _fits(found, edge, step[0], budget_bits, swap):
        return np.float32(0.0)
    # Counted from the coarsest, so that a row that is scaled by a power of two has the same step, so scaled.
    too_fine, fits = max(coarsest - _OCTAVES * _OCTAVE, _OCTAVE), coarsest
    while fits - too_fine > _FINENESS:
        middle = (too_fine + fits) // 2
        pattern[0] = middle
        if _fits(found, edge, step[0], budget_bits, swap):
            fits = middle
        else:
            too_fine = middle
    pattern[0] = fits
    return np.float32(step[0])


@njit(cache=True, nogil=True)
def _fits(found: Counts, edge: Floats, step: np.float32, budget_bits: int, swap: int) -> bool:
    per_step, offset = np.float32(1.0) / step, np.float32(1.0) - ROUND_UP_FROM
    total = 0.0  # of a step that is far too fine more than an integer holds
    for k in range(len(found)):
        magnitude = np.floor(edge[k] * per_step + offset)
        if found[k] and magnitude * step > _LARGEST_FLOAT:
            return False
        code = 1.0 - magnitude if swap and magnitude <= 1.0 else magnitude
        total += found[k] * (1.0 + code + (magnitude > 0.0))
    return total <= budget_bits


@njit(cache=True, nogil=True)
def encode_row(row: Floats, step: np.float32, codes: Magnitudes, out: Bytes) -> None:
    """Write signs and magnitudes of a row behind its header, and leave in ``row`` what they miss.

    ``codes`` ``[columns]`` is room to work in; ``out`` is zero, header included. A step that is not finite,
    or zero, leaves all as it is.
    """
    out[:4].view(np.float32)[0] = step
    swap = np.int32(step < 0.0)
    step = abs(step)
    if not step > 0.0:
        return
    per_step, offset = np.float32(1.0) / step, np.float32(1.0) - ROUND_UP_FROM
    signs, at, filled, pending = 0, HEADER_BYTES, 0, np.uint64(0)
    for i in range(len(row)):
        magnitude = np.int32(abs(row[i]) * per_step + offset)
        codes[i] = magnitude ^ (swap & np.int32(magnitude <= 1))
        sent = int(magnitude > 0)
        negative = row[i] < 0.0
        pending |= np.uint64(negative and sent) << np.uint64(filled)
        filled += sent
        signs += sent
        if filled == 8:
            out[at] = np.uint8(pending)
            at, filled, pending = at + 1, 0, np.uint64(0)
        rounded = np.float32(magnitude) * step
        row[i] -= -rounded if negative else rounded
    out[4:8].view(np.uint32)[0] = signs
    if filled:
        out[at] = np.uint8(pending)
        at += 1
    _write_unary(codes, out[at:])


@njit(cache=True, nogil=True)
def _write_unary(codes: Magnitudes, out: Bytes) -> None:
    at, filled, pending = 0, np.uint64(0), np.uint64(0)
    one, word, byte, low = np.uint64(1), np.uint64(_WORD), np.uint64(8), np.uint64(255)
    for i in range(len(codes)):
        ones = np.uint64(codes[i])
        while ones >= word:  # more than what is pending has room for
            pending |= low << filled
            ones -= byte
            out[at] = np.uint8(pending & low)
            at, pending = at + 1, pending >> byte
        pending |= ((one << ones) - one) << filled
        filled += ones + one
        if filled >= word:
            for _ in range(_WORD // 8):
                out[at] = np.uint8(pending & low)
                at, pending = at + 1, pending >> byte
            filled -= word
    while at < len(out) and pending:
        out[at] = np.uint8(pending & low)
        at, pending = at + 1, pending >> byte


@njit(cache=True, nogil=True)
def add_row(payload: Bytes, table: Bytes, out: Floats) -> None:
    """Add a decoded row to ``out`` ``[columns]``; ``table`` is ``unary_table()``."""
    step = payload[:4].view(np.float32)[0]
    if step == 0.0:
        return
    swap = int(step < 0.0)
    step = abs(step)
    if not step > 0.0:
        out[:] = np.nan
        return
    signs = int(payload[4:8].view(np.uint32)[0])
    first = min(HEADER_BYTES + ((signs + 7) >> 3), len(payload))
    run, sign, column, columns = 0, 8 * HEADER_BYTES, 0, len(out)
    last_sign = 8 * len(payload) - 1
    for at in range(first, len(payload)):
        entry = table[payload[at]]
        ended = min(int(entry[8]), columns - column)
        for n in range(ended):
            code = run + int(entry[n])
            run = 0
            magnitude = code ^ (swap & int(code <= 1))
            negative = (payload[sign >> 3] >> (sign & 7)) & 1
            sign = min(sign + (magnitude > 0), last_sign)
            out[column + n] += np.float32(magnitude) * (-step if negative else step)
        column += ended
        run += int(entry[9])
        if column == columns:
            return


def unary_table() -> Bytes:
    """Of every byte, lowest bit first: the ones before each of its zeros, how many zeros, the ones left."""
    table = np.zeros((256, 10), dtype=np.uint8)
    for value in range(256):
        ones = zeros = 0
        for bit in range(8):
            if value >> bit & 1:
                ones += 1
            else:
                table[value, zeros] = ones
                ones, zeros = 0, zeros + 1
        table[value, 8], table[value, 9] = zeros, ones
    return table
