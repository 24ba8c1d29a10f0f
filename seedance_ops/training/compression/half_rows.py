"""Rows as bfloat16: for tensors that are too small, or too delicate, for anything coarser."""

from __future__ import annotations

import torch


class HalfRows:
    """Every element in bfloat16."""

    def row_bytes(self, columns: int) -> int:
        """Two bytes an element."""
        return 2 * columns

    def encode(self, rows: torch.Tensor) -> torch.Tensor:
        """See ``RowCodec``."""
        rounded = rows.bfloat16()
        rows.sub_(rounded)
        return rounded.view(torch.uint8)

    def decode(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        return payload.view(torch.bfloat16).view(-1, columns).float()

    def sum_of(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        return self.decode(payload, columns).sum(dim=0)
