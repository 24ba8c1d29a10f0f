"""The kernels of ``SparseRows`` for CUDA: select, pack and subtract in a few passes, and add what was packed.

The bytes are those of ``sparse_kernels``, by the same rules: magnitudes are compared as integers, of equal
ones the first are taken, zeros never. A selected element's place is the number of those before it, counted
block by block, so that a row gives the same bytes every time whatever the order of blocks. Run in Triton's
interpreter and compiled for CUDA, not yet run on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from seedance_ops.training.compression.sparse_layout import SparseLayout

_BLOCK = 1024
"""Elements, or bits of the map, of one program."""
_BLOCKS_COUNTED = 8
"""Blocks of one program of the histogram, which it adds to that of the row at the end."""
_DIGIT = tl.constexpr(8)
_DIGITS = tl.constexpr(1 << 8)
_FIRST_SHIFT = 24


@dataclass(frozen=True)
class Selection:
    """What was selected of rows, and the bytes that say where it was.

    Where a row has fewer than ``entries`` elements that are not zero, its last index is repeated, with zeros.
    """

    indices: torch.Tensor
    """int64 ``[r, entries]``, ascending; empty where rows were rounded to bfloat16."""
    values: torch.Tensor
    """``[r, entries]``: bfloat16, or float32 as they were."""
    index_bytes: torch.Tensor
    """uint8 ``[r, row_bytes - low_at]``, as in ``SparseLayout``."""


def select_and_pack(rows: torch.Tensor, layout: SparseLayout, *, round_to_bf16: bool) -> Selection:
    """Select the ``layout.entries`` elements of largest magnitude of every row.

    Args:
        rows: Contiguous float32 ``[r, columns]``.
        layout: At most 2²⁹ columns, since places in a row are counted in 32 bits.
        round_to_bf16: Round values to bfloat16 and leave what that is off in ``rows``, in the same pass. Else
            ``rows`` stay as they are.
    """
    r, columns = rows.shape
    entries, width, device = layout.entries, layout.low_width, rows.device
    bits = rows.view(torch.int32)
    blocks = triton.cdiv(columns, _BLOCK)
    low_words = triton.cdiv(entries * width, 32)
    high_bytes = layout.row_bytes - layout.high_at
    words = torch.zeros(r, low_words + triton.cdiv(high_bytes, 4), dtype=torch.int32, device=device)
    values = torch.zeros(r, entries, dtype=torch.int16 if round_to_bf16 else torch.int32, device=device)
    indices = torch.empty(r, 0 if round_to_bf16 else entries, dtype=torch.int64, device=device)
    with torch.cuda.device_of(rows):  # type: ignore[no-untyped-call]
        limits, ties = _limits(bits, entries)
        counts = torch.empty(2, r, blocks, dtype=torch.int32, device=device)
        last = torch.zeros(r, dtype=torch.int32, device=device)
        _count_selected[(blocks, r)](bits, limits, counts[0], counts[1], last, columns, _BLOCK)
        before = counts.cumsum(dim=2, dtype=torch.int32) - counts
        _pack_selected[(blocks, r)](
            bits, limits, ties, before[0], before[1], last, values, indices, words, columns, entries,
            words.shape[1], low_words, width, round_to_bf16, _BLOCK,
        )  # fmt: skip
    sizes = [4 * low_words, 4 * (words.shape[1] - low_words)]
    low, high = torch.split(words.view(torch.uint8), sizes, dim=1)
    index_bytes = torch.cat([low[:, : layout.high_at - layout.low_at], high[:, :high_bytes]], dim=1)
    return Selection(indices, values.view(torch.bfloat16 if round_to_bf16 else torch.float32), index_bytes)


def add_values(payload: torch.Tensor, values: torch.Tensor, layout: SparseLayout, out: torch.Tensor) -> None:
    """Add ``values`` at the indices of every row of ``payload`` to its row of ``out``, or to its only one.

    To an only one they are added row after row, so that the sum has the same bits every time. Bytes that no
    row encodes to are not recognised; nothing outside ``out`` is touched.

    Args:
        payload: uint8 ``[r, row_bytes]``.
        values: float32 ``[r, entries]``.
        layout: That of ``payload``.
        out: Contiguous float32 ``[r, columns]``, or ``[1, columns]``, without negative zeros.
    """
    payload, values = payload.contiguous(), values.contiguous()
    r, bits = len(payload), 8 * (layout.row_bytes - layout.high_at)
    blocks = triton.cdiv(bits, _BLOCK)
    counts = torch.empty(r, blocks, dtype=torch.int32, device=payload.device)
    with torch.cuda.device_of(payload):  # type: ignore[no-untyped-call]
        _count_ones[(blocks, r)](payload, counts, layout.row_bytes, layout.high_at, _BLOCK)
        before = counts.cumsum(dim=1, dtype=torch.int32) - counts
        together = r if len(out) == r else 1
        for first in range(0, r, together):
            _add_at_ones[(blocks, together)](
                payload, values, before, out, first, blocks, layout.columns, layout.entries,
                layout.row_bytes, layout.low_at, layout.high_at, layout.columns if together > 1 else 0,
                layout.low_width, _BLOCK,
            )  # fmt: skip


def _limits(bits: torch.Tensor, entries: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each row the ``entries``-th largest magnitude, and how many of those that equal it are to be taken.

    Digit by digit from the highest: of the elements that agree with what is known of it so far, the one with
    which the count from the largest reaches ``entries`` is next.
    """
    r, columns = bits.shape
    limits = torch.zeros(r, dtype=torch.int32, device=bits.device)
    wanted = torch.full_like(limits, entries)
    counts = torch.zeros(4, r, _DIGITS.value, dtype=torch.int32, device=bits.device)
    programs = triton.cdiv(columns, _BLOCK * _BLOCKS_COUNTED)
    for turn, shift in enumerate(range(_FIRST_SHIFT, -1, -_DIGIT.value)):
        _count_digits[(programs, r)](bits, limits, counts[turn], columns, shift, _BLOCKS_COUNTED, _BLOCK)
        _append_digit[(r,)](counts[turn], limits, wanted)
    return limits, wanted


@triton.jit
def _count_digits(  # type: ignore[no-untyped-def]
    bits, limits, counts, columns, shift: tl.constexpr, blocks: tl.constexpr, block: tl.constexpr
):
    """Add to a row's ``counts`` how often each digit stands at ``shift`` behind the digits of its limit."""
    row = tl.program_id(1)
    first = tl.program_id(0) * blocks * block
    limit = tl.load(limits + row)
    found = tl.zeros([_DIGITS], tl.int32)
    for start in range(first, tl.minimum(first + blocks * block, columns), block):
        at = start + tl.arange(0, block)
        digits = _magnitudes(bits, row, at, columns) >> shift
        counted = (at < columns) & ((digits >> _DIGIT) == limit)
        found += tl.histogram(digits & (_DIGITS - 1), _DIGITS, mask=counted)
    tl.atomic_add(counts + row * _DIGITS + tl.arange(0, _DIGITS), found, mask=found > 0, sem="relaxed")


@triton.jit
def _append_digit(counts, limits, wanted):  # type: ignore[no-untyped-def]
    """Append to a row's limit the digit that the largest ``wanted`` reach; less ``wanted`` by those above."""
    row = tl.program_id(0)
    digits = tl.arange(0, _DIGITS)
    own = tl.load(counts + row * _DIGITS + digits)
    reached = tl.sum(own, axis=0) - tl.cumsum(own, axis=0) + own
    still = tl.load(wanted + row)
    digit = tl.max(tl.where(reached >= still, digits, 0), axis=0)
    above = tl.sum(tl.where(digits > digit, own, 0), axis=0)
    tl.store(wanted + row, still - above)
    tl.store(limits + row, (tl.load(limits + row) << _DIGIT) | digit)


@triton.jit
def _count_selected(bits, limits, above, tied, last, columns, block: tl.constexpr):  # type: ignore[no-untyped-def]
    """How many of a block are above the limit and how many equal it; the row's last that is not zero."""
    row, number = tl.program_id(1), tl.program_id(0)
    at = number * block + tl.arange(0, block)
    magnitudes = _magnitudes(bits, row, at, columns)
    limit = tl.load(limits + row)
    place = row * tl.num_programs(0) + number
    tl.store(above + place, tl.sum((magnitudes > limit).to(tl.int32), axis=0))
    tl.store(tied + place, tl.sum((magnitudes == limit).to(tl.int32), axis=0))
    tl.atomic_max(last + row, tl.max(tl.where(magnitudes > 0, at, 0), axis=0), sem="relaxed")


@triton.jit
def _pack_selected(  # type: ignore[no-untyped-def]
    bits, limits, ties, above_before, tied_before, last, values, indices, words, columns, entries,
    row_words, low_words, width: tl.constexpr, round_to_bf16: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Write the values and indices of a block's selected elements to their places, and subtract."""
    row, number = tl.program_id(1), tl.program_id(0)
    place = row * tl.num_programs(0) + number
    at = number * block + tl.arange(0, block)
    magnitudes = _magnitudes(bits, row, at, columns)
    limit, equal_taken = tl.load(limits + row), tl.load(ties + row)
    # Where the limit is zero, what is left to take are zeros, which are not.
    found = tl.where(limit > 0, entries, entries - equal_taken)
    equal_taken = tl.where(limit > 0, equal_taken, 0)
    above = (magnitudes > limit).to(tl.int32)
    tied = (magnitudes == limit).to(tl.int32)
    ties_before = tl.load(tied_before + place) + tl.cumsum(tied, axis=0) - tied
    rank = tl.load(above_before + place) + tl.cumsum(above, axis=0) - above
    rank += tl.minimum(ties_before, equal_taken)
    taken = (above > 0) | ((tied > 0) & (ties_before < equal_taken))

    own_values = values + row.to(tl.int64) * entries + rank
    element = bits + row.to(tl.int64) * columns + at
    pattern = tl.load(element, mask=taken, other=0)
    if round_to_bf16:
        half = _bf16_of(pattern)
        tl.store(own_values, half.to(tl.int16), mask=taken)
        error = pattern.to(tl.float32, bitcast=True) - (half << 16).to(tl.float32, bitcast=True)
        tl.store(element, error.to(tl.int32, bitcast=True), mask=taken)
    else:
        tl.store(own_values, pattern, mask=taken)
        tl.store(indices + row.to(tl.int64) * entries + rank, at.to(tl.int64), mask=taken)
    own_words = words + row.to(tl.int64) * row_words
    _put_index(own_words, own_words + low_words, at, rank, taken, width)

    # There are no more entries than columns, so that each lies in one block if counted like elements.
    repeated = (at >= found) & (at < entries)
    index = tl.load(last + row) + tl.zeros_like(at)
    if not round_to_bf16:
        tl.store(indices + row.to(tl.int64) * entries + at, index.to(tl.int64), mask=repeated)
    _put_index(own_words, own_words + low_words, index, at, repeated, width)


@triton.jit
def _magnitudes(bits, row, at, columns):  # type: ignore[no-untyped-def]
    """The bits of a row's elements without their sign; 0 beyond its end."""
    return tl.load(bits + row.to(tl.int64) * columns + at, mask=at < columns, other=0) & 0x7FFFFFFF


@triton.jit
def _bf16_of(pattern):  # type: ignore[no-untyped-def]
    """Upper half of a float32's bits after rounding to nearest, ties to even; as uint32."""
    whole = pattern.to(tl.uint32, bitcast=True)
    half = (whole + 0x7FFF + ((whole >> 16) & 1)) >> 16
    return tl.where((pattern & 0x7FFFFFFF) > 0x7F800000, tl.full(half.shape, 0x7FC0, tl.uint32), half)


@triton.jit
def _put_index(low_words, high_words, index, rank, mask, width: tl.constexpr):  # type: ignore[no-untyped-def]
    """The ``rank``-th index's low bits and its bit of the map, into words that were zero."""
    if width > 0:
        low = index & ((1 << width) - 1)
        first = rank * width
        inside = first & 31
        tl.atomic_or(low_words + (first >> 5), low << inside, mask=mask, sem="relaxed")
        # Shifted in two steps, since 32 at once is undefined.
        rest = (low >> 1) >> (31 - inside)
        tl.atomic_or(low_words + (first >> 5) + 1, rest, mask=mask & (inside + width > 32), sem="relaxed")
    bit = (index >> width) + rank
    one = tl.full(index.shape, 1, tl.int32)
    tl.atomic_or(high_words + (bit >> 5), one << (bit & 31), mask=mask, sem="relaxed")


@triton.jit
def _count_ones(payload, counts, row_bytes, high_at, block: tl.constexpr):  # type: ignore[no-untyped-def]
    """How many bits are set in a block of a row's map."""
    row, number = tl.program_id(1), tl.program_id(0)
    ones = _ones(payload + row.to(tl.int64) * row_bytes, row_bytes, high_at, number, block)
    tl.store(counts + row * tl.num_programs(0) + number, tl.sum(ones, axis=0))


@triton.jit(do_not_specialize=["first_row"])
def _add_at_ones(  # type: ignore[no-untyped-def]
    payload, values, ones_before, out, first_row, blocks, columns, entries, row_bytes, low_at, high_at,
    out_stride, width: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Add the values whose indices have their bit in a block of a row's map."""
    row, number = first_row + tl.program_id(1), tl.program_id(0)
    own = payload + row.to(tl.int64) * row_bytes
    ones = _ones(own, row_bytes, high_at, number, block)
    rank = tl.load(ones_before + row * blocks + number) + tl.cumsum(ones, axis=0) - ones
    read = (ones > 0) & (rank < entries)
    index = (number * block + tl.arange(0, block) - rank) << width
    if width > 0:
        index |= _low_bits(own, rank, read, low_at, high_at, width)
    value = tl.load(values + row.to(tl.int64) * entries + rank, mask=read, other=0.0)
    # An index is repeated with zeros only: without them no two programs add to the same element.
    added = read & (value != 0.0) & (index >= 0) & (index < columns)
    element = out + tl.program_id(1).to(tl.int64) * out_stride + index
    tl.store(element, tl.load(element, mask=added, other=0.0) + value, mask=added)


@triton.jit
def _ones(own, row_bytes, high_at, number, block: tl.constexpr):  # type: ignore[no-untyped-def]
    """The bits of a block of the map of the row at ``own``, as int32."""
    bit = number * block + tl.arange(0, block)
    byte = high_at + (bit >> 3)
    return (tl.load(own + byte, mask=byte < row_bytes, other=0).to(tl.int32) >> (bit & 7)) & 1


@triton.jit
def _low_bits(own, rank, mask, low_at, high_at, width: tl.constexpr):  # type: ignore[no-untyped-def]
    """The low bits of the ``rank``-th index, gathered from the bytes that hold them."""
    first = rank * width
    held = tl.zeros(rank.shape, tl.int64)
    for i in tl.static_range((width + 14) // 8):
        byte = low_at + (first >> 3) + i
        held |= tl.load(own + byte, mask=mask & (byte < high_at), other=0).to(tl.int64) << (8 * i)
    return ((held >> (first & 7)) & ((1 << width) - 1)).to(tl.int32)
