"""The mean over ranks in two collectives, each of which sends every element once: bytes flat in ranks.

Every rank sends each owner its row (``all_to_all``), the owner adds what it got, and sends the mean to all
(``all_gather``). Both messages are encoded, so a rank sends ``2 (n-1)`` encoded rows, which is ``2 (n-1)/n``
of the encoded gradient: what a ring all-reduce sends of a dense one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from seedance_ops.training.compression.codec import RowCodec


@dataclass(frozen=True)
class Codecs:
    """What a group of unlike ranks has agreed on; the same on all of them."""

    senders: tuple[RowCodec, ...]
    """By rank: what it encodes its rows with."""
    answer: RowCodec
    """What every owner encodes its answer with: one for all, since all-gathers are of equal size."""


@dataclass
class Part:
    """One parameter's part of a message."""

    rows: torch.Tensor
    """Float32 ``[n, columns]``, a row for each owner. Afterwards: the error of what this rank sent."""
    codec: RowCodec
    """What this rank encodes its rows with."""
    owned: torch.Tensor
    """Float32 ``[columns]`` that the owner adds to the mean of its row. Afterwards: the error of what it
    sent."""
    codecs: Codecs | None = None
    """Where not every rank encodes all with ``codec``."""

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return self.rows.shape[1]

    @property
    def answer(self) -> RowCodec:
        """What every owner encodes its answer with."""
        return self.codec if self.codecs is None else self.codecs.answer

    def sender(self, rank: int) -> RowCodec:
        """What a rank encodes its rows with."""
        return self.codec if self.codecs is None else self.codecs.senders[rank]


def owner_mean(parts: Sequence[Part], group: dist.ProcessGroup) -> tuple[list[torch.Tensor], int]:
    """The mean rows ``[n, columns]`` of every part, the same bits on every rank, and the bytes sent.

    Must run where nothing else uses the group.
    """
    ranks = group.size()
    message = torch.cat([part.codec.encode(part.rows) for part in parts], dim=1)
    received = _exchanged(message, parts, group)
    answer = torch.cat(
        [_answer(part, rows, ranks) for part, rows in zip(parts, received, strict=True)], dim=1
    )
    gathered = torch.empty(ranks, answer.shape[1], dtype=torch.uint8, device=answer.device)
    dist.all_gather_single(gathered.view(-1), answer.view(-1), group=group)
    sizes = [part.answer.row_bytes(part.columns) for part in parts]
    means = [
        part.answer.decode(payload, part.columns)
        for part, payload in zip(parts, _split(gathered, sizes), strict=True)
    ]
    return means, (ranks - 1) * (message.shape[1] + answer.shape[1])


def owner_mean_bytes(row_bytes: int, ranks: int, answer_bytes: int | None = None) -> int:
    """Bytes that one rank sends for parts of ``row_bytes`` encoded bytes a row, and as many of an answer."""
    return (ranks - 1) * (row_bytes + (row_bytes if answer_bytes is None else answer_bytes))


def _exchanged(
    message: torch.Tensor, parts: Sequence[Part], group: dist.ProcessGroup
) -> list[list[tuple[RowCodec, torch.Tensor]]]:
    """Every rank's rows for this owner: by part, codecs and the payloads ``[ranks, row bytes]`` of theirs.

    Rows of unlike ranks differ in length, so each rank's comes by its own size.
    """
    ranks = group.size()
    runs = _runs(parts, ranks)
    sizes = [[part.sender(first).row_bytes(part.columns) for part in parts] for first, _ in runs]
    incoming = [sum(size) for size, run in zip(sizes, runs, strict=True) for _ in range(*run)]
    received = torch.empty(sum(incoming), dtype=torch.uint8, device=message.device)
    dist.all_to_all_single(received, message.view(-1), incoming, [message.shape[1]] * ranks, group=group)
    rows = torch.split(
        received, [sum(size) * len(range(*run)) for size, run in zip(sizes, runs, strict=True)]
    )
    by_run = []
    for (first, _), own, size in zip(runs, rows, sizes, strict=True):
        payloads = _split(own.view(-1, sum(size)), size)
        by_run.append([(part.sender(first), payload) for part, payload in zip(parts, payloads, strict=True)])
    return [list(of_part) for of_part in zip(*by_run, strict=True)]


def _runs(parts: Sequence[Part], ranks: int) -> list[tuple[int, int]]:
    """Stretches of neighbouring ranks that encode every part alike, as first rank and that after the last."""
    borders = [
        rank
        for rank in range(1, ranks)
        if any(part.sender(rank) is not part.sender(rank - 1) for part in parts)
    ]
    return list(itertools.pairwise([0, *borders, ranks]))


def _answer(part: Part, received: Sequence[tuple[RowCodec, torch.Tensor]], ranks: int) -> torch.Tensor:
    """The owner's encoded mean; its error stays in ``part.owned``."""
    (codec, payload), *others = received
    total = codec.sum_of(payload, part.columns)
    for codec, payload in others:
        total.add_(codec.sum_of(payload, part.columns))
    part.owned.add_(total.div_(ranks))
    return part.answer.encode(part.owned.unsqueeze(0))


def _split(payload: torch.Tensor, sizes: Sequence[int]) -> list[torch.Tensor]:
    """Each part's bytes, copied: a slice that starts at an odd byte cannot be read as 16-bit numbers."""
    pieces = torch.split(payload, list(sizes), dim=1)
    return [piece.clone(memory_format=torch.contiguous_format) for piece in pieces]
