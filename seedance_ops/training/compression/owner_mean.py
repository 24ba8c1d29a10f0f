"""The mean over ranks in two collectives, each of which sends every element once: bytes flat in ranks.

Every rank sends each owner its row (``all_to_all``), the owner adds what it got, and sends the mean to all
(``all_gather``). Both messages are encoded, so a rank sends ``2 (n-1)`` encoded rows, which is ``2 (n-1)/n``
of the encoded gradient: what a ring all-reduce sends of a dense one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from seedance_ops.training.compression.codec import RowCodec


@dataclass
class Part:
    """One parameter's part of a message."""

    rows: torch.Tensor
    """Float32 ``[n, columns]``, a row for each owner. Afterwards: the error of what this rank sent."""
    codec: RowCodec
    owned: torch.Tensor
    """Float32 ``[columns]`` that the owner adds to the mean of its row. Afterwards: the error of what it
    sent."""

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return self.rows.shape[1]


def owner_mean(parts: Sequence[Part], group: dist.ProcessGroup) -> tuple[list[torch.Tensor], int]:
    """The mean rows ``[n, columns]`` of every part, the same bits on every rank, and the bytes sent.

    Must run where nothing else uses the group.
    """
    ranks = group.size()
    message = torch.cat([part.codec.encode(part.rows) for part in parts], dim=1)
    received = torch.empty_like(message)
    dist.all_to_all_single(received, message, group=group)
    answer = torch.cat(
        [_answer(part, payload, ranks) for part, payload in zip(parts, _split(received, parts), strict=True)],
        dim=1,
    )
    gathered = torch.empty(ranks, answer.shape[1], dtype=torch.uint8, device=answer.device)
    dist.all_gather_single(gathered.view(-1), answer.view(-1), group=group)
    means = [
        part.codec.decode(payload, part.columns)
        for part, payload in zip(parts, _split(gathered, parts), strict=True)
    ]
    return means, (ranks - 1) * (message.shape[1] + answer.shape[1])


def owner_mean_bytes(row_bytes: int, ranks: int) -> int:
    """Bytes that one rank sends for parts of ``row_bytes`` encoded bytes a row."""
    return 2 * (ranks - 1) * row_bytes


def _answer(part: Part, payload: torch.Tensor, ranks: int) -> torch.Tensor:
    """The owner's encoded mean; its error stays in ``part.owned``."""
    part.owned.add_(part.codec.sum_of(payload, part.columns).div_(ranks))
    return part.codec.encode(part.owned.unsqueeze(0))


def _split(payload: torch.Tensor, parts: Sequence[Part]) -> list[torch.Tensor]:
    """Each part's bytes, copied: a slice that starts at an odd byte cannot be read as 16-bit numbers."""
    pieces = torch.split(payload, [part.codec.row_bytes(part.columns) for part in parts], dim=1)
    return [piece.clone(memory_format=torch.contiguous_format) for piece in pieces]
