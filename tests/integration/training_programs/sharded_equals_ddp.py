"""Exits with 0 when two shards by two replicas train like DDP over four ranks, by every algorithm.

The same model, data and optimiser: DDP with torch's own all-reduce is what each algorithm is held against.
"""

from __future__ import annotations

import copy
import os

import torch
import torch.distributed as dist
from pydantic import TypeAdapter
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from seedance_ops.training.compression.base import ring_all_reduce_bytes
from seedance_ops.training.compression.config import CompressionConfig
from seedance_ops.training.compression.device import DeviceProfile
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.environment import RankEnvironment
from seedance_ops.training.parallel import ProcessGroup

STEPS, LR = 4, 0.1
ALIKE = 1e-6
"""Of parameters of size 0.1: other orders of addition in fp32."""
CLOSE = 3e-4
"""Gradients rounded to 8 bits of precision: a hundredth of the way that parameters went."""
CASES: list[tuple[dict[str, object], float | None]] = [
    ({"algorithm": "dense"}, ALIKE),
    ({"algorithm": "bf16"}, CLOSE),
    ({"algorithm": "topk_error_feedback", "k_ratio": 1.0}, CLOSE),
    ({"algorithm": "topk_error_feedback", "k_ratio": 1.0, "dense_steps": 2}, CLOSE),
    ({"algorithm": "quantized_error_feedback", "levels": 255}, CLOSE),
    # Coarse ones, with AdamW and in its units: they must run, move, and agree.
    ({"algorithm": "powersgd", "byte_share": 0.25}, None),
    ({"algorithm": "quantized_error_feedback"}, None),
    ({"algorithm": "mixed_precision", "k_ratio": 0.02, "allreduce_backend": "gloo"}, None),
]
NODES = (DeviceProfile(device="a"), DeviceProfile(device="b", threshold_scale=0.8))
"""Of the two replicas: ``mixed_precision`` sends another share of b's gradient than of a's."""


def network() -> nn.Sequential:
    """Rows that do not divide by two, a bias of one element (none for the second shard), a frozen layer."""
    torch.manual_seed(1)
    layers = nn.Sequential(
        nn.Linear(32, 301), nn.Tanh(), nn.Linear(301, 64), nn.Tanh(), nn.Linear(64, 64), nn.Linear(64, 1)
    )
    layers[4].requires_grad_(requires_grad=False)
    return layers


def sharded(layers: nn.Sequential, mesh_of_node: object) -> nn.Sequential:
    for layer in (layers[0], layers[2]):
        fully_shard(layer, mesh=mesh_of_node)
    fully_shard(layers, mesh=mesh_of_node)
    return layers


def train(model: nn.Module, optimizer: torch.optim.Optimizer, rank: int) -> None:
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(100 * step + rank)
        x = torch.randn(8, 32, generator=generator)
        (model(x) - x[:, :1]).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def check(group: ProcessGroup, mesh: object, algorithm: dict[str, object], tolerance: float | None) -> None:
    start = network()
    trained = DistributedDataParallel(copy.deepcopy(start))
    train(trained, torch.optim.SGD(trained.parameters(), lr=LR), group.rank)
    expected = dict(trained.module.named_parameters())

    config: CompressionConfig = TypeAdapter(CompressionConfig).validate_python(algorithm)
    reduction = make_reduction(config, NODES)
    own = network()
    if group.rank >= 2:
        nn.init.zeros_(own[0].weight)  # the first replica's count, as DDP's first rank's do
    own = sharded(own, mesh)
    rule = torch.optim.SGD if tolerance else torch.optim.AdamW
    optimizer = rule(own.parameters(), lr=LR)
    model, measured = group.wrap(own, reduction, optimizer)
    assert model is own
    train(model, optimizer, group.rank)
    for name, parameter in own.named_parameters():
        assert isinstance(parameter, DTensor)
        whole = parameter.full_tensor()
        moved = (whole - start.get_parameter(name)).abs().max()
        assert (moved > 10 * CLOSE) == parameter.requires_grad, (algorithm, name, moved.item())
        difference = (whole - expected[name]).abs().max()
        assert tolerance is None or difference <= tolerance, (algorithm, name, difference.item())
    replicas_agree(own, group)
    if algorithm == {"algorithm": "dense"}:
        elements = sum(each.to_local().numel() for each in own.parameters() if each.requires_grad)
        sent = measured.take().bytes_on_wire
        assert abs(sent - STEPS * ring_all_reduce_bytes(4 * elements, 2)) <= 3 * STEPS, sent
    reduction.close()


def replicas_agree(model: nn.Module, group: ProcessGroup) -> None:
    """To the bit: nothing would bring them together again."""
    shards = torch.cat([each.to_local().detach().reshape(-1) for each in model.parameters()])
    first, second = (group.gather(shards)[rank] for rank in (group.rank % 2, group.rank % 2 + 2))
    assert torch.equal(first, second)


def main() -> None:
    group = ProcessGroup.join(RankEnvironment.read(os.environ), "gloo")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "shard"))["shard"]
    for algorithm, tolerance in CASES:
        check(group, mesh, algorithm, tolerance)
    dist.barrier()
    group.leave()


if __name__ == "__main__":
    main()
