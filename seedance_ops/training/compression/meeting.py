"""The exact average over ranks of parameters and of what the optimiser keeps for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
import torch.distributed as dist

from seedance_ops.training.compression.base import ring_all_reduce_bytes


@torch.no_grad()
def average(
    parameters: Mapping[str, torch.Tensor],
    optimizer: torch.optim.Optimizer | None,
    owed: Mapping[str, torch.Tensor],
) -> int:
    """Give every rank the mean, the same bits everywhere; a collective call.

    Args:
        parameters: By name, the same names on every rank; changed in place.
        optimizer: Its state of these parameters is averaged too: tensors of a parameter's shape. Of single
            numbers, such as the count of steps, all ranks take the largest.
        owed: What is to be added to the mean of some parameters; summed over ranks.

    Returns:
        Bytes that this rank sent.
    """
    ranks, sent = dist.get_world_size(), 0
    names = sorted(parameters)
    for name in names:
        share = parameters[name].detach().div(ranks)
        if name in owed:
            share.add_(owed[name])
        sent += _add_up(share, dist.ReduceOp.SUM)
        parameters[name].copy_(share)
    numbers = []
    for kept, parameter in _kept(optimizer, [parameters[name] for name in names]):
        if kept.shape == parameter.shape:
            share = kept.div(ranks)
            sent += _add_up(share, dist.ReduceOp.SUM)
            kept.copy_(share)
        elif kept.numel() == 1:
            numbers.append(kept)
    if numbers:
        device = parameters[names[0]].device
        largest = torch.stack([number.reshape(()).double() for number in numbers]).to(device)
        sent += _add_up(largest, dist.ReduceOp.MAX)
        for number, value in zip(numbers, largest, strict=True):
            number.fill_(value.item())
    return sent


def _kept(
    optimizer: torch.optim.Optimizer | None, parameters: list[torch.Tensor]
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Floating-point state and its parameter, in the same order on every rank."""
    for parameter in parameters if optimizer is not None else ():
        state = optimizer.state.get(parameter, {})  # type: ignore[union-attr]
        for key in sorted(state):
            if isinstance(state[key], torch.Tensor) and state[key].is_floating_point():
                yield state[key], parameter


def _add_up(payload: torch.Tensor, how: dist.ReduceOp.RedOpType) -> int:
    dist.all_reduce(payload, op=how)
    return ring_all_reduce_bytes(payload.nbytes, dist.get_world_size())
