"""A row codec that sends the elements of largest magnitude, as (index, value) pairs of a fixed size."""

from __future__ import annotations

import logging
from functools import cache
from importlib.util import find_spec

import torch
from torch.nn.functional import pad

from seedance_ops.training.compression.scaled_fp16 import FP16_BYTES, from_scaled_fp16, to_scaled_fp16
from seedance_ops.training.compression.sparse_layout import (
    VALUE_BLOCK,
    SparseLayout,
    SparseValues,
    sparse_layout,
)

_log = logging.getLogger(__name__)

_LARGEST_FOR_TRITON = 2**29
"""Columns up to which 32-bit places in a row do not overflow in ``sparse_triton``."""


class SparseRows:
    """The k largest elements of every row; the rest stays behind as the error.

    A threshold from a sample picks a few more than k, of which the k largest remain: exact, in little more
    than one pass. Values are sent as bfloat16; as ``fp16`` in units of a power of two for the row, so that
    none overflows; or as ``int4``: levels from -7 to 7 in units of a scale for each 128 of them, their
    largest magnitude ÷ 7 in bfloat16. A value that is not finite counts as large, and makes its whole row of
    ``fp16``, or block of ``int4``, NaN. Compiled loops do it on the CPU, Triton's kernels on CUDA where they
    can be built, torch's own operations elsewhere; of equal magnitudes the last may choose others.
    """

    def __init__(self, k_ratio: float, values: SparseValues = "bf16") -> None:
        self._k_ratio = k_ratio
        self._values: SparseValues = values

    def row_bytes(self, columns: int) -> int:
        """Values, with their scales, and Elias-Fano coded indices; see ``SparseLayout``."""
        return self._layout(columns).row_bytes

    def encode(self, rows: torch.Tensor) -> torch.Tensor:
        """See ``RowCodec``."""
        layout = self._layout(rows.shape[1])
        if layout.columns <= _LARGEST_FOR_TRITON and triton_builds_for(rows.device):
            return encode_by_triton(rows, layout)
        if rows.device.type != "cpu":
            return encode_anywhere(rows, layout)
        from seedance_ops.training.compression.sparse_kernels import encode_sparse

        payload = torch.empty(rows.shape[0], layout.row_bytes, dtype=torch.uint8)
        encode_sparse(
            rows.numpy(), rows.view(torch.int32).numpy(), layout.entries,
            layout.scale_bytes, layout.low_at, layout.high_at, layout.low_width, payload.numpy(),
        )  # fmt: skip
        return payload

    def decode(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        rows = torch.zeros(payload.shape[0], columns, dtype=torch.float32, device=payload.device)
        return self._added(payload, rows)

    def sum_of(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        total = torch.zeros(1, columns, dtype=torch.float32, device=payload.device)
        return self._added(payload, total)[0]

    def _added(self, payload: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """``out`` with every decoded row added to its row, or to its only one."""
        layout = self._layout(out.shape[1])
        if layout.columns <= _LARGEST_FOR_TRITON and triton_builds_for(payload.device):
            from seedance_ops.training.compression.sparse_triton import add_values

            add_values(payload, _decoded_values(payload, layout), layout, out)
        elif payload.device.type != "cpu":
            for indices, values in zip(
                *(torch.split(part, len(out)) for part in decode_anywhere(payload, layout)), strict=True
            ):
                out.scatter_add_(1, indices, values)
        else:
            from seedance_ops.training.compression.sparse_kernels import add_sparse

            add_sparse(
                payload.contiguous().numpy(), layout.entries,
                layout.scale_bytes, layout.low_at, layout.high_at, layout.low_width, out.numpy(),
            )  # fmt: skip
        return out

    def _layout(self, columns: int) -> SparseLayout:
        return sparse_layout(columns, self._k_ratio, self._values)


@cache
def triton_builds_for(device: torch.device) -> bool:
    """Whether Triton's kernels run on a CUDA device: one row is encoded to find out, once per process.

    That takes a C compiler and Python's headers, which an image for training may lack. Ranks may differ:
    each reads the others' bytes, and what it adds up has the same bits either way.
    """
    if device.type != "cuda" or find_spec("triton") is None:
        return False
    try:
        encode_by_triton(torch.ones(1, 1, device=device), sparse_layout(1, 1.0, "bf16"))
    except Exception as error:  # noqa: BLE001 - Triton's own have no common base with the others
        _log.warning(
            "No Triton kernel can be built for %s (%s): gradients are selected with torch's operations, "
            "which take longer. Install a C compiler and Python's headers.", device, error,
        )  # fmt: skip
        return False
    return True


def encode_by_triton(rows: torch.Tensor, layout: SparseLayout) -> torch.Tensor:
    """``SparseRows.encode`` in Triton's kernels: wholly in ``bf16``, else values in torch's operations."""
    from seedance_ops.training.compression.sparse_triton import select_and_pack

    fused = layout.scale_bytes == 0
    selection = select_and_pack(rows, layout, round_to_bf16=fused)
    encoded = selection.values.view(torch.uint8)
    if not fused:
        encoded, decoded = _encoded_values(selection.values, layout)
        rows.scatter_add_(1, selection.indices, -decoded)
    return torch.cat([encoded, selection.index_bytes], dim=1)


def encode_anywhere(rows: torch.Tensor, layout: SparseLayout) -> torch.Tensor:
    """``SparseRows.encode`` in torch's own operations, for any device."""
    chosen = torch.topk(rows.abs(), layout.entries, dim=1, sorted=False).indices
    indices = chosen.sort(dim=1).values
    encoded, decoded = _encoded_values(rows.gather(1, indices), layout)
    rows.scatter_add_(1, indices, -decoded)
    return torch.cat([encoded, _packed_indices(indices, layout)], dim=1)


def decode_anywhere(payload: torch.Tensor, layout: SparseLayout) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices and values, each ``[r, entries]``, in torch's own operations."""
    ones = _unpacked_bits(payload[:, layout.high_at :]).nonzero()[:, 1].view(len(payload), layout.entries)
    places = torch.arange(layout.entries, device=payload.device)
    low_bits = _unpacked_bits(payload[:, layout.low_at : layout.high_at])
    low_bits = low_bits[:, : layout.entries * layout.low_width]
    weights = 1 << torch.arange(layout.low_width, device=payload.device)
    low = (low_bits.view(len(payload), layout.entries, layout.low_width) * weights).sum(dim=2)
    return ((ones - places) << layout.low_width) | low, _decoded_values(payload, layout)


def _encoded_values(values: torch.Tensor, layout: SparseLayout) -> tuple[torch.Tensor, torch.Tensor]:
    """The bytes of ``[r, entries]`` values, scales included, and what they decode to."""
    if layout.scale_bytes == 0:
        rounded = values.bfloat16()
        return rounded.view(torch.uint8), rounded.float()
    if layout.value_bytes == FP16_BYTES * layout.entries:
        encoded = to_scaled_fp16(values)
        return encoded, from_scaled_fp16(encoded)
    return _int4_of(values)


def _decoded_values(payload: torch.Tensor, layout: SparseLayout) -> torch.Tensor:
    if layout.scale_bytes == 0:
        return _copied(payload, 0, layout.low_at).view(torch.bfloat16).float()
    if layout.value_bytes == FP16_BYTES * layout.entries:
        return from_scaled_fp16(_copied(payload, 0, layout.low_at))
    scales = _copied(payload, 0, layout.scale_bytes).view(torch.bfloat16).float()
    halves = payload[:, layout.scale_bytes : layout.low_at]
    levels = torch.stack([halves & 0xF, halves >> 4], dim=2).flatten(1)[:, : layout.entries].float()
    levels = torch.where(levels > 7, levels - 16, levels)
    return levels * _per_value(scales, layout.entries)


def _int4_of(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Encoded scales and levels, and the values that they stand for."""
    r, entries = values.shape
    blocks = pad(values, (0, -entries % VALUE_BLOCK)).view(r, -1, VALUE_BLOCK)
    scales = (blocks.abs().amax(dim=2) / 7.0).bfloat16()
    units = _per_value(scales.float(), entries)
    usable = (units > 0.0) & torch.isfinite(units)
    levels = torch.where(usable, values / units, 0.0).round().clamp(-7.0, 7.0)
    pairs = pad(levels.to(torch.int16) & 0xF, (0, entries % 2)).view(r, -1, 2)
    halves = (pairs[:, :, 0] | (pairs[:, :, 1] << 4)).to(torch.uint8)
    return torch.cat([scales.view(torch.uint8), halves], dim=1), levels * units


def _packed_indices(indices: torch.Tensor, layout: SparseLayout) -> torch.Tensor:
    r, device = indices.shape[0], indices.device
    low_bits = (indices[:, :, None] >> torch.arange(layout.low_width, device=device)) & 1
    places = torch.arange(layout.entries, device=device)
    high_bits = torch.zeros(r, 8 * (layout.row_bytes - layout.high_at), dtype=torch.uint8, device=device)
    high_bits.scatter_(1, (indices >> layout.low_width) + places, 1)
    return torch.cat([_packed_bits(low_bits.flatten(1)), _packed_bits(high_bits)], dim=1)


def _packed_bits(bits: torch.Tensor) -> torch.Tensor:
    """Bytes of ``[r, bits]`` zeros and ones, the first bit the lowest, filled up with zeros."""
    padded = pad(bits.to(torch.uint8), (0, -bits.shape[1] % 8)).view(bits.shape[0], -1, 8)
    return (padded << torch.arange(8, dtype=torch.uint8, device=bits.device)).sum(dim=2, dtype=torch.uint8)


def _unpacked_bits(payload: torch.Tensor) -> torch.Tensor:
    shifts = torch.arange(8, dtype=torch.uint8, device=payload.device)
    return ((payload[:, :, None] >> shifts) & 1).flatten(1)


def _per_value(scales: torch.Tensor, entries: int) -> torch.Tensor:
    return scales.repeat_interleave(VALUE_BLOCK, dim=1)[:, :entries]


def _copied(payload: torch.Tensor, start: int, stop: int) -> torch.Tensor:
    """A copy, since a slice may start at an odd byte."""
    return payload[:, start:stop].clone(memory_format=torch.contiguous_format)
