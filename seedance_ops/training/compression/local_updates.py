"""Ranks that step on their own gradients and average their parameters, a slice of them after each step.

Local SGD (Stich, ICLR 2019) in the streaming form of DiLoCo (Douillard et al. 2025, arXiv:2501.18512) with
overlap and without an outer optimiser. Every rank's optimiser steps on that rank's gradient. After each step
one of ``every`` slices of all parameters is exchanged: how far it has moved since its last exchange, rounded
by a row codec, while the next step computes. So in bfloat16 a step sends ``1/every`` of what bf16 gradients
take, and hardly waits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.functional import pad

from seedance_ops.training.compression.base import Bound, Bucket, Exchange, Reduction
from seedance_ops.training.compression.codec import RowCodec, compile_now
from seedance_ops.training.compression.half_rows import HalfRows
from seedance_ops.training.compression.lane import Lane
from seedance_ops.training.compression.meeting import average
from seedance_ops.training.compression.owner_mean import Part, owner_mean, owner_mean_bytes
from seedance_ops.training.compression.without_state import elements_of
from seedance_ops.training.errors import ConfigurationError

_STEP = "local_updates.step"
_BFLOAT16 = HalfRows()


class LocalUpdates:
    """Averages parameters in place of gradients; ranks agree exactly only after ``meet``.

    Nothing is lost: what a codec rounds away stays in the parameters of the rank that sent it, and what an
    owner rounds away is added to its next mean.
    """

    name = "local_updates"
    fits_any_world_size = True

    def __init__(self, every: int, codec: RowCodec = _BFLOAT16) -> None:
        """A reduction without state yet.

        Args:
            every: Steps from one exchange of a parameter to its next.
            codec: How movements are sent.
        """
        self._every = every
        self._codec = codec
        self._step = 0
        self._parameters: dict[str, torch.Tensor] = {}
        self._anchors: dict[str, torch.Tensor] = {}
        self._left_out: dict[int, torch.Tensor] = {}
        self._under_way: _SliceExchange | None = None
        self._lane: Lane | None = None

    def bind(self, bound: Bound) -> None:
        """Learn the parameters, and open a lane; a collective call."""
        self._bound = bound
        compile_now(self._codec)
        self._lane = Lane(bound.device)

    def close(self) -> None:
        """Close the lane."""
        if self._lane is not None:
            self._lane.close()
            self._lane = None

    def reduce(self, bucket: Bucket) -> Reduction:
        """Leave the gradient as it is, and note where its parameters stood when ranks last agreed."""
        for parameter in bucket.parameters():
            self._notice(self._bound.names[id(parameter)], parameter)
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future(
            devices=[self._bound.device] if self._bound.device.type == "cuda" else None
        )
        future.set_result(bucket.buffer())
        return Reduction(future)

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """None: a gradient stays on its rank. See ``mean_step_bytes``."""
        del shapes, world_size
        return 0

    def end_step(self) -> Exchange:
        """Take over the exchange that began a step ago, and begin that of the next slice."""
        if not self._anchors:
            return Exchange()
        done = self._take_over()
        self._step += 1
        self._begin(self._step % self._every)
        return done

    def meet(self) -> Exchange:
        """Average parameters and the optimiser's state over all ranks, exactly; a collective call."""
        if not self._anchors:
            return Exchange()
        done = self._take_over()
        owed = self._owed()
        sent = average(self._parameters, self._bound.optimizer, owed)
        self._anchors.clear()
        self._left_out.clear()
        return done + Exchange(sent, sent)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Whose turn it is; parameters and optimiser are alike everywhere once ranks have met."""
        assert not self._anchors, "meet() comes before a checkpoint"
        return {_STEP: torch.tensor(self._step)}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Go on with the same slice."""
        self._step = int(state[_STEP])
        self._anchors.clear()

    def _notice(self, name: str, parameter: torch.Tensor) -> None:
        if name in self._anchors:
            return
        if parameter.dtype != torch.float32 or not parameter.is_contiguous():
            raise ConfigurationError(
                f"local_updates averages contiguous float32 parameters, and {name} is {parameter.dtype} with "
                f"strides {parameter.stride()}: keep parameters in float32 and use autocast"
            )
        self._parameters[name] = parameter
        self._anchors[name] = parameter.detach().clone()

    def _begin(self, turn: int) -> None:
        """Queue the exchange of a slice's movement on the lane."""
        assert self._lane is not None, "bind() comes before the first step"
        ranks = dist.get_world_size()
        moved = torch.cat([own - anchor for own, anchor in self._slice(turn)])
        rows = pad(moved, (0, -len(moved) % ranks)).view(ranks, -1)
        owned = self._left_out.pop(turn, torch.zeros(rows.shape[1], dtype=rows.dtype, device=rows.device))
        part = Part(rows.clone(), self._codec, owned)

        def work(group: dist.ProcessGroup) -> tuple[torch.Tensor, int]:
            (mean,), sent = owner_mean([part], group)
            return mean, sent

        self._under_way = _SliceExchange(turn, rows, part, self._lane.submit(work))

    def _take_over(self) -> Exchange:
        """Wait for the exchange under way, and move to what all ranks moved on average.

        What this rank has moved meanwhile stays: it belongs to the slice's next exchange.
        """
        if self._under_way is None:
            return Exchange()
        exchange, self._under_way = self._under_way, None
        mean = exchange.reduction.future.wait()
        ranks = dist.get_world_size()
        sent = (exchange.moved - exchange.part.rows).view(-1)
        mean = mean.view(-1)
        self._left_out[exchange.turn] = exchange.part.owned
        at = 0
        for own, anchor in self._slice(exchange.turn):
            here = slice(at, at := at + len(own))
            own.add_(mean[here] - sent[here])
            anchor.add_(mean[here])
        return Exchange(exchange.reduction.bytes_sent, self._slice_bytes(exchange.turn, ranks))

    def _slice(self, turn: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Flat views of a slice's parameters and of their anchors."""
        for name, here in self._places(turn):
            yield self._parameters[name].detach().view(-1)[here], self._anchors[name].view(-1)[here]

    def _places(self, turn: int) -> Iterator[tuple[str, slice]]:
        """The parameters of a slice, and which of their elements belong to it."""
        first, last = self._limits(turn)
        at = 0
        for name in sorted(self._anchors):
            size = self._anchors[name].numel()
            here = slice(max(first - at, 0), min(last - at, size))
            at += size
            if here.start < here.stop:
                yield name, here

    def _limits(self, turn: int) -> tuple[int, int]:
        """Where a slice begins and ends among all elements in the order of names."""
        elements = sum(anchor.numel() for anchor in self._anchors.values())
        return elements * turn // self._every, elements * (turn + 1) // self._every

    def _slice_bytes(self, turn: int, ranks: int) -> int:
        first, last = self._limits(turn)
        return slice_bytes(last - first, ranks, self._codec)

    def _owed(self) -> dict[str, torch.Tensor]:
        """What this rank, as an owner, left out of means; for those parameters whose mean lacks something."""
        owed: dict[str, torch.Tensor] = {}
        ranks, rank = dist.get_world_size(), dist.get_rank()
        for turn, left_out in self._left_out.items():
            rows = torch.zeros(ranks, len(left_out), dtype=left_out.dtype, device=left_out.device)
            rows[rank] = left_out
            flat, at = rows.view(-1), 0
            for name, here in self._places(turn):
                lacking = owed.setdefault(name, torch.zeros_like(self._parameters[name]))
                lacking.view(-1)[here] = flat[at : (at := at + here.stop - here.start)]
        return owed


@dataclass(frozen=True)
class _SliceExchange:
    """An exchange on the lane."""

    turn: int
    moved: torch.Tensor
    """Float32 ``[n, columns]``: how far this rank's parameters had moved."""
    part: Part
    """Its message; once sent, what rounding left out of it."""
    reduction: Reduction


def slice_bytes(elements: int, ranks: int, codec: RowCodec = _BFLOAT16) -> int:
    """Bytes that one rank sends for a slice: every element encoded, to owners and back."""
    return owner_mean_bytes(codec.row_bytes(math.ceil(elements / ranks)), ranks)


def mean_step_bytes(
    shapes: Sequence[Sequence[int]], every: int, ranks: int, codec: RowCodec = _BFLOAT16
) -> int:
    """Bytes that one rank sends in a step, on average over a cycle and without meetings."""
    return slice_bytes(math.ceil(elements_of(shapes) / every), ranks, codec)
