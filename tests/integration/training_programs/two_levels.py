"""Exits with 0 when two levels average as one does and lose nothing, on ranks of several nodes.

By every algorithm that has the key, steps with a flush after every third: all ranks get the same bits; the
bytes handed over are those declared; and what all ranks put in came out, or is owed.
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from flat_bucket import Bucket
from stepped import stepped
from torch import nn

from seedance_ops.training.compression.base import Bound, GradientReduction, ring_all_reduce_bytes
from seedance_ops.training.compression.config import (
    CompressionConfig,
    MixedPrecisionConfig,
    QuantizedErrorFeedbackConfig,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.environment import RankEnvironment

SHAPES = [torch.Size(shape) for shape in [(130, 97), (96,), (200, 64), (7, 3)]]
"""No whole number of turns for any number of ranks; the first and the third are compressed."""
LARGE = (0, 2)
CPU = torch.device("cpu")
STEPS = 6
TOPK: dict[str, object] = {"algorithm": "topk_error_feedback", "two_levels": True}
CONFIGURATIONS: list[CompressionConfig] = [
    TopKErrorFeedbackConfig.model_validate(TOPK | {"k_ratio": 0.05, "flush_on_save": True}),
    TopKErrorFeedbackConfig.model_validate(TOPK | {"k_ratio": 0.05, "in_optimizer_units": True}),
    QuantizedErrorFeedbackConfig(algorithm="quantized_error_feedback", two_levels=True, flush_on_save=True),
    MixedPrecisionConfig(algorithm="mixed_precision", two_levels=True),
]
EVERYTHING = TopKErrorFeedbackConfig.model_validate(TOPK | {"k_ratio": 1.0})


def main() -> None:
    dist.init_process_group("gloo")
    parameters, optimizer = stepped(SHAPES)
    for config in CONFIGURATIONS:
        reduction = bound(config, parameters, optimizer)
        loses_nothing(reduction, parameters, config)
        goes_on_from_what_it_saved(reduction, config, parameters, optimizer)
        reduction.close()
    reduction = bound(EVERYTHING, parameters, optimizer)
    is_the_mean(reduction, parameters)
    infinity_is_seen_everywhere(reduction, parameters)
    reduction.close()
    dist.barrier()
    dist.destroy_process_group()


def bound(
    config: CompressionConfig, parameters: list[nn.Parameter], optimizer: torch.optim.Optimizer
) -> GradientReduction:
    ranks, reduction = RankEnvironment.read(os.environ), make_reduction(config)
    names = {id(parameter): str(n) for n, parameter in enumerate(parameters)}
    shapes = {str(n): shape for n, shape in enumerate(SHAPES)}
    places = {"local_world_size": ranks.local_world_size, "local_rank": ranks.local_rank}
    reduction.bind(Bound(names, CPU, optimizer, shapes=shapes, **places))
    return reduction


def loses_nothing(
    reduction: GradientReduction, parameters: list[nn.Parameter], config: CompressionConfig
) -> None:
    put_in = [torch.zeros(shape, dtype=torch.float64) for shape in SHAPES]
    came_out = [torch.zeros(shape, dtype=torch.float64) for shape in SHAPES]
    flushes = "flush_on_save" in config.model_fields_set
    for step in range(1, STEPS + 1):
        gradients = random_gradients(step)
        for total, gradient in zip(put_in, gradients, strict=True):
            total.add_(gradient)
        for total, gradient in zip(came_out, reduced(reduction, parameters, gradients), strict=True):
            total.add_(gradient)
        if flushes and step % 3 == 0:
            flush(reduction)
    for n in range(len(SHAPES)):
        missing = mean_over_ranks(put_in[n]) - came_out[n]
        missing -= reduction.state_dict()[f"flushed.{n}"] if flushes and n in LARGE else owed(reduction, n)
        # Single precision, of six gradients of up to five; small tensors are rounded to bfloat16 and carry
        # nothing.
        allowed = 1e-6 * STEPS * 5 if n in LARGE else 2**-7 * STEPS * 5
        assert missing.abs().max() <= allowed, (config, n, missing.abs().max())


def flush(reduction: GradientReduction) -> None:
    flushed = reduction.meet()
    whole = sum(ring_all_reduce_bytes(4 * SHAPES[n].numel(), dist.get_world_size()) for n in LARGE)
    assert flushed.bytes_sent == flushed.declared_bytes == whole, flushed
    for name, value in reduction.state_dict().items():
        assert torch.equal(of_rank_zero(value), value), name  # one file for all ranks


def goes_on_from_what_it_saved(
    reduction: GradientReduction,
    config: CompressionConfig,
    parameters: list[nn.Parameter],
    optimizer: torch.optim.Optimizer,
) -> None:
    if "flush_on_save" in config.model_fields_set:
        reduction.meet()
    saved = {name: value.clone() for name, value in reduction.state_dict().items()}
    assert saved
    resumed = bound(config, parameters, optimizer)
    resumed.load_state_dict(saved)
    for step in (7, 8):
        pairs = (reduced(each, parameters, random_gradients(step)) for each in (reduction, resumed))
        for one, other in zip(*pairs, strict=True):
            assert torch.equal(one, other), config
    resumed.close()


def is_the_mean(reduction: GradientReduction, parameters: list[nn.Parameter]) -> None:
    """Where everything is sent, to the precision of bfloat16, in which it is sent there and back."""
    gradients = random_gradients(1)
    for mean, gradient in zip(reduced(reduction, parameters, gradients), gradients, strict=True):
        dense = mean_over_ranks(gradient)
        assert (mean - dense).abs().max() <= 2 * 2**-8 * gradient_scale(gradient), "not the mean"


def infinity_is_seen_everywhere(reduction: GradientReduction, parameters: list[nn.Parameter]) -> None:
    before = {name: value.clone() for name, value in reduction.state_dict().items()}
    gradients = random_gradients(2)
    if dist.get_rank() == 1:
        gradients[2][7, 3] = torch.inf
    assert not torch.isfinite(reduced(reduction, parameters, gradients)[2]).all()
    after = reduction.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())


def reduced(
    reduction: GradientReduction, parameters: list[nn.Parameter], gradients: list[torch.Tensor]
) -> list[torch.Tensor]:
    # The last parameters' gradients are ready first, as in a backward pass.
    buckets = [Bucket(0, parameters[2:], gradients[2:]), Bucket(1, parameters[:2], gradients[:2])]
    started = [reduction.reduce(bucket) for bucket in buckets]
    for bucket, one in zip(buckets, started, strict=True):
        one.future.wait()
        declared = reduction.declared_bytes([p.shape for p in bucket.parameters()], dist.get_world_size())
        assert one.bytes_sent == declared, (one.bytes_sent, declared)
    means = buckets[1].gradients() + buckets[0].gradients()
    for mean in means:
        assert torch.equal(of_rank_zero(mean), mean) or not torch.isfinite(mean).all()
    return means


def random_gradients(step: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(100 * step + dist.get_rank())
    return [torch.randn(shape, generator=generator) for shape in SHAPES]


def owed(reduction: GradientReduction, n: int) -> torch.Tensor:
    """By the definition, not by the code that flushes: each rank's own residuals, put where they belong.

    A shard is every L-th turn of 32 elements from this rank's on; of a shard every N-th turn is a row.
    """
    total = torch.zeros(SHAPES[n], dtype=torch.float64)
    state, ranks = reduction.state_dict(), RankEnvironment.read(os.environ)
    if f"worker.{n}" not in state:
        return total
    own, nodes = ranks.local_world_size, dist.get_world_size() // ranks.local_world_size
    turns = torch.zeros(len(total.view(-1)) // 32 + own * nodes + 1, 32, dtype=torch.float64)
    for row, values in enumerate(state[f"worker.{n}"]):
        for k, turn in enumerate(values.view(-1, 32)):
            turns[(k * nodes + row) * own + ranks.local_rank] += turn / nodes
    for k, turn in enumerate(state[f"owner.{n}"].view(-1, 32)):
        turns[(k * nodes + ranks.rank // own) * own + ranks.local_rank] += turn
    total += turns.view(-1)[: total.numel()].view(total.shape)
    dist.all_reduce(total)
    return total


def mean_over_ranks(values: torch.Tensor) -> torch.Tensor:
    values = values.double()
    dist.all_reduce(values)
    return values / dist.get_world_size()


def gradient_scale(gradient: torch.Tensor) -> torch.Tensor:
    largest = gradient.abs().max()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return largest


def of_rank_zero(values: torch.Tensor) -> torch.Tensor:
    same = values.clone()
    dist.broadcast(same, 0)
    return same


if __name__ == "__main__":
    main()
