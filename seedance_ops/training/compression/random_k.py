"""A random share of the elements at every step: what top-k has to be better than."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from seedance_ops.training.compression.base import Bucket, Reduction
from seedance_ops.training.compression.owner_reduce import OwnerReduce
from seedance_ops.training.compression.sparse_layout import entries_for

_STEP = "random_k.step"


class RandomRows:
    """A row codec that keeps ``k_ratio`` of each row in bfloat16. Which elements follows from ``step``.

    So all ranks keep the same ones, and only values are sent. They are not scaled up by ``1 / k_ratio``:
    error feedback brings what was left out.
    """

    def __init__(self, k_ratio: float) -> None:
        self._k_ratio = k_ratio
        self.step = 0

    def row_bytes(self, columns: int) -> int:
        """Two bytes for each kept element."""
        return 2 * entries_for(columns, self._k_ratio)

    def encode(self, rows: torch.Tensor) -> torch.Tensor:
        """See ``RowCodec``."""
        chosen = self._chosen(rows.shape[1], rows.device)
        sent = rows[:, chosen].bfloat16()
        rows[:, chosen] -= sent
        # An infinity among the elements that stay behind must not stay unseen.
        sent[~torch.isfinite(rows).all(dim=1)] = torch.nan
        return sent.contiguous().view(torch.uint8)

    def decode(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        rows = torch.zeros(payload.shape[0], columns, dtype=torch.float32, device=payload.device)
        rows[:, self._chosen(columns, payload.device)] = payload.view(torch.bfloat16).float()
        return rows

    def sum_of(self, payload: torch.Tensor, columns: int) -> torch.Tensor:
        """See ``RowCodec``."""
        return self.decode(payload, columns).sum(dim=0)

    def _chosen(self, columns: int, device: torch.device) -> torch.Tensor:
        generator = torch.Generator().manual_seed(1_000_003 * self.step + columns)
        return torch.randperm(columns, generator=generator)[: entries_for(columns, self._k_ratio)].to(device)


class RandomK(OwnerReduce):
    """``OwnerReduce`` of elements that are drawn anew at every step of the run."""

    def __init__(self, k_ratio: float, *, error_feedback: bool = True) -> None:
        self._rows = RandomRows(k_ratio)
        super().__init__("random_k", self._rows, error_feedback=error_feedback)

    def reduce(self, bucket: Bucket) -> Reduction:
        """Queue the bucket; the first of a step draws."""
        if bucket.index() == 0:
            self._rows.step += 1
        return super().reduce(bucket)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The residuals, and the steps done."""
        return super().state_dict() | {_STEP: torch.tensor(self._rows.step)}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take both up."""
        self._rows.step = int(state[_STEP])
        super().load_state_dict({name: value for name, value in state.items() if name != _STEP})
