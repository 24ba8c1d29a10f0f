"""Row codecs of mixed precision (R3.2): a trunk in float16, and the sparse rest in four bits."""

from __future__ import annotations

from decimal import Decimal

import torch

from seedance_ops.training.compression.codec import RowCodec
from seedance_ops.training.compression.scaled_fp16 import (
    FP16_BYTES,
    SCALE_BYTES,
    from_scaled_fp16,
    to_scaled_fp16,
)
from seedance_ops.training.compression.sparse_rows import SparseRows


class TrunkRows:
    """Every element in float16, in units of a power of two for its row: top-k switched off."""

    def row_bytes(self, columns: int) -> int:
        """Two bytes an element, and the scale."""
        return SCALE_BYTES + FP16_BYTES * columns

    def encode(self, rows: torch.Tensor) -> torch.Tensor:
        """See ``RowCodec``."""
        payload = to_scaled_fp16(rows)
        rows.sub_(from_scaled_fp16(payload))
        return payload

    def decode(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        return from_scaled_fp16(payload).view(-1, columns)

    def sum_of(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        return self.decode(payload, columns).sum(dim=0)


class MixedRows:
    """The largest elements in float16, then the largest of what is left in four bits.

    The few largest are sent nearly exactly, so that the scale of a block of four-bit values is set by
    ordinary elements. Two ``SparseRows`` one after the other: rows hold the error once the first has encoded
    them, and that is what the second encodes.
    """

    def __init__(self, k_ratio: float, trunk_ratio: float) -> None:
        """Of a row ``k_ratio`` is sent, and of that ``trunk_ratio`` as the trunk."""
        k, trunk = Decimal(str(k_ratio)), Decimal(str(trunk_ratio))
        self._trunk = SparseRows(float(k * trunk), "fp16")
        self._rest = SparseRows(float(k * (1 - trunk)), "int4")

    def row_bytes(self, columns: int) -> int:
        """Of both layers."""
        return self._trunk.row_bytes(columns) + self._rest.row_bytes(columns)

    def encode(self, rows: torch.Tensor) -> torch.Tensor:
        """See ``RowCodec``."""
        return torch.cat([self._trunk.encode(rows), self._rest.encode(rows)], dim=1)

    def decode(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        trunk, rest = self._layers(payload, columns)
        return self._trunk.decode(trunk, columns).add_(self._rest.decode(rest, columns))

    def sum_of(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        trunk, rest = self._layers(payload, columns)
        return self._trunk.sum_of(trunk, columns).add_(self._rest.sum_of(rest, columns))

    def _layers(self, payload: torch.Tensor, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Copied: the second may start at an odd byte."""
        at = self._trunk.row_bytes(columns)
        return payload[:, :at].contiguous(), payload[:, at:].contiguous()


def mixed_codec(k_ratio: float | None, trunk_ratio: float) -> RowCodec:
    """The codec of one rank: ``k_ratio`` of the elements, or all of them where it is none."""
    return TrunkRows() if k_ratio is None else MixedRows(k_ratio, trunk_ratio)
