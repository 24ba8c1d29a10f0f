"""Exits with 0 when local updates bring ranks together as they promise, on as many ranks as it is started on.

Every rank moves its parameters by itself, as an optimiser would. Nothing of that is lost: once ranks have met
they are where all moved on average, to the same bits, and so is what the optimiser keeps.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
import torch.distributed as dist
from flat_bucket import Bucket
from torch import nn

from seedance_ops.training.compression.base import Bound
from seedance_ops.training.compression.codec import RowCodec
from seedance_ops.training.compression.half_rows import HalfRows
from seedance_ops.training.compression.level_rows import LevelRows
from seedance_ops.training.compression.local_updates import LocalUpdates
from seedance_ops.training.errors import ConfigurationError

SHAPES = [(128, 96), (96,), (200, 64), (7, 3)]
ELEMENTS = 25_205
EVERY = 4
STEPS = 10
SIZE = 1e-3
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Way:
    """How movements are sent."""

    codec: RowCodec
    element_bytes: float
    """Scales included."""
    error: float
    """Of an element among equal ones, as a share of it."""


WAYS = (
    Way(HalfRows(), 2.0, 2**-9),
    Way(LevelRows(255), 1.0 + 2 / 256, 2**-8),
    Way(LevelRows(15), 0.5 + 2 / 256, 2**-4),
)


def main() -> None:
    dist.init_process_group("gloo")
    for way in WAYS:
        ranks_come_together(way)
    half_precision_parameters_are_refused()
    dist.barrier()
    dist.destroy_process_group()


def ranks_come_together(way: Way) -> None:
    parameters = [nn.Parameter(torch.zeros(shape)) for shape in SHAPES]
    optimizer = torch.optim.AdamW(parameters, lr=SIZE)
    reduction = LocalUpdates(EVERY, way.codec)
    reduction.bind(Bound({id(parameter): str(n) for n, parameter in enumerate(parameters)}, CPU, optimizer))
    nothing_that_moved_is_lost(reduction, parameters, way)
    ranks_that_stand_still_come_together(reduction, parameters, way)
    what_the_optimizer_keeps_is_averaged(reduction, parameters, optimizer)
    reduction.close()


@torch.no_grad()
def nothing_that_moved_is_lost(reduction: LocalUpdates, parameters: list[nn.Parameter], way: Way) -> None:
    generator = torch.Generator().manual_seed(dist.get_rank())
    moved = torch.zeros(ELEMENTS)
    for _ in range(2):
        sent = []
        for _ in range(STEPS):
            backward(reduction, parameters)
            for parameter in parameters:
                parameter.add_(SIZE * torch.randn(parameter.shape, generator=generator))
            sent.append(end_step(reduction))
        are_a_share_of_all(sent, way)
        meet(reduction)
        assert same_everywhere(flat(parameters))
    # What each rank has moved follows from its generator alone.
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2 * STEPS):
        moves = [SIZE * torch.randn(shape, generator=generator) for shape in SHAPES]
        moved += torch.cat([move.view(-1) for move in moves])
    dist.all_reduce(moved.div_(dist.get_world_size()))
    assert (flat(parameters) - moved).abs().max() < 1e-6


@torch.no_grad()
def ranks_that_stand_still_come_together(
    reduction: LocalUpdates, parameters: list[nn.Parameter], way: Way
) -> None:
    """Without a meeting: only by the exchanges, to what two roundings leave."""
    backward(reduction, parameters)
    for parameter in parameters:
        parameter.add_(SIZE * dist.get_rank())
    for _ in range(EVERY + 1):
        end_step(reduction)
    lowest, highest = flat(parameters), flat(parameters)
    dist.all_reduce(lowest, op=dist.ReduceOp.MIN)
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    assert (highest - lowest).max() <= SIZE * dist.get_world_size() * 2 * way.error
    meet(reduction)


def what_the_optimizer_keeps_is_averaged(
    reduction: LocalUpdates, parameters: list[nn.Parameter], optimizer: torch.optim.Optimizer
) -> None:
    for parameter in parameters:
        parameter.grad = torch.full(parameter.shape, dist.get_rank() + 1.0)
    backward(reduction, parameters)
    for _ in range(1 + dist.get_rank()):  # a loss scaler lets a rank skip a step that overflowed
        optimizer.step()
    kept = [optimizer.state[parameter] for parameter in parameters]
    expected = torch.cat([state["exp_avg_sq"].view(-1) for state in kept])
    dist.all_reduce(expected.div_(dist.get_world_size()))
    end_step(reduction)
    meet(reduction)
    found = torch.cat([state["exp_avg_sq"].view(-1) for state in kept])
    assert same_everywhere(found)
    torch.testing.assert_close(found, expected)
    assert {state["step"].item() for state in kept} == {float(dist.get_world_size())}


def half_precision_parameters_are_refused() -> None:
    parameter = nn.Parameter(torch.zeros(4, dtype=torch.bfloat16))
    reduction = LocalUpdates(EVERY)
    reduction.bind(Bound({id(parameter): "embedding"}, CPU))
    with pytest.raises(ConfigurationError, match=r"embedding is torch\.bfloat16"):
        reduction.reduce(Bucket(0, [parameter], [torch.zeros(4)]))
    reduction.close()


def backward(reduction: LocalUpdates, parameters: list[nn.Parameter]) -> None:
    """A backward pass: each rank gets back its own gradient, and nothing is sent."""
    gradients = [torch.full(shape, dist.get_rank() + 1.0) for shape in SHAPES]
    started = reduction.reduce(Bucket(0, parameters, gradients))
    assert started.bytes_sent == 0
    assert torch.equal(started.future.wait(), torch.full((ELEMENTS,), dist.get_rank() + 1.0))


def end_step(reduction: LocalUpdates) -> int:
    done = reduction.end_step()
    assert done.bytes_sent == done.declared_bytes
    return done.bytes_sent


def meet(reduction: LocalUpdates) -> None:
    reduction.meet()
    assert reduction.meet().bytes_sent == 0, "they have met"
    assert list(reduction.state_dict()) == ["local_updates.step"]


def are_a_share_of_all(sent: list[int], way: Way) -> None:
    """As a ring sends of encoded elements; rows are rounded up to elements, bytes and scales."""
    ranks = dist.get_world_size()
    share = 2 * (ranks - 1) / ranks * way.element_bytes * ELEMENTS / EVERY
    assert sent[0] == 0, "an exchange ends in the step after that in which it began"
    assert all(share - 4 <= bytes_sent <= share + 8 * ranks for bytes_sent in sent[1:]), (share, sent)


def flat(parameters: list[nn.Parameter]) -> torch.Tensor:
    return torch.cat([parameter.detach().view(-1) for parameter in parameters])


def same_everywhere(values: torch.Tensor) -> bool:
    first = values.clone()
    dist.broadcast(first, 0)
    return torch.equal(first, values)


if __name__ == "__main__":
    main()
