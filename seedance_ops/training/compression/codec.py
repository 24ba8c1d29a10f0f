"""The interface of a row codec: a lossy code of fixed size, row by row, that hands back what it left out."""

from __future__ import annotations

from typing import Protocol

import torch

_COLUMNS = 32


class RowCodec(Protocol):
    """Encodes float32 rows into the same number of bytes each, whatever they hold.

    The size is fixed so that every message of a collective is equally long and the bytes of a step are a
    formula. A row that holds a value that is not finite decodes to at least one such value: an overflow
    must reach the optimiser, never be rounded away.
    """

    def row_bytes(self, columns: int) -> int:
        """Bytes of one encoded row of ``columns`` elements."""

    def encode(self, rows: torch.Tensor) -> torch.Tensor:
        """Encode contiguous float32 rows ``[r, columns]`` into uint8 ``[r, row_bytes(columns)]``.

        What ``decode`` will give is subtracted from ``rows`` in place, so that they hold the error.
        """

    def decode(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """Float32 ``[r, columns]`` of contiguous uint8 ``[r, row_bytes(columns)]``."""

    def sum_of(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """The sum of the decoded rows, float32 ``[columns]``: added in order, so that every rank that adds
        the same payload gets the same bits.
        """


def compile_now(codec: RowCodec) -> None:
    """Compile the codec's loops, or be refused now: not in the first step's time."""
    codec.decode(codec.encode(torch.zeros(1, _COLUMNS, dtype=torch.float32)), _COLUMNS)
