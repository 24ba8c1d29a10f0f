"""Exits with 0 when every way to shard that cannot be averaged is refused on all four ranks, and says why."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_common import FSDPMeshInfo, ShardPlacementResult
from torch.distributed.tensor import Shard

from seedance_ops.training.compression.config import TopKErrorFeedbackConfig
from seedance_ops.training.compression.dense import Dense
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.compression.half_precision import HalfPrecision
from seedance_ops.training.compression.local_updates import LocalUpdates
from seedance_ops.training.environment import RankEnvironment
from seedance_ops.training.errors import ConfigurationError
from seedance_ops.training.parallel import ProcessGroup


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 8))


def refused(said: str, attempt: Callable[[], object]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        attempt()
    assert said in str(raised.value), (said, raised.value)


def in_part(mesh: DeviceMesh) -> nn.Module:
    layers = network()
    fully_shard(layers[0], mesh=mesh)
    return layers


def in_two_groups(mesh: DeviceMesh, other: DeviceMesh) -> nn.Module:
    layers = network()
    apart = ShardPlacementResult(Shard(0), FSDPMeshInfo(other, shard_mesh_dim=0))
    fully_shard(
        layers, mesh=mesh, shard_placement_fn=lambda parameter: apart if parameter.ndim == 1 else Shard(0)
    )
    return layers


def main() -> None:
    group = ProcessGroup.join(RankEnvironment.read(os.environ), "gloo")
    both = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "shard"))
    node, everyone = both["shard"], init_device_mesh("cpu", (4,))
    bf16 = HalfPrecision.bf16()
    refused("2 dimensions (2 × 2)", lambda: group.wrap(fully_shard(network(), mesh=both), Dense()))
    refused("parameter 1.weight is in no module", lambda: group.wrap(in_part(node), Dense()))
    refused(
        "made 2 parameter groups of the model", lambda: group.wrap(in_two_groups(node, everyone), Dense())
    )
    refused(
        "spans all 4 ranks, so there are no replicas",
        lambda: group.wrap(fully_shard(network(), mesh=everyone), bf16),
    )
    group.wrap(fully_shard(network(), mesh=everyone), Dense())  # nothing to compress, nothing to refuse
    refused(
        "local_updates averages whole parameters",
        lambda: group.wrap(fully_shard(network(), mesh=node), LocalUpdates(7)),
    )
    refused(
        "train in bfloat16",
        lambda: group.wrap(fully_shard(network(), mesh=node), bf16, loss_scale=lambda: 2.0),
    )
    two_levels = TopKErrorFeedbackConfig(algorithm="topk_error_feedback", two_levels=True)
    refused(
        "averaged within the node already",
        lambda: group.wrap(fully_shard(network(), mesh=node), make_reduction(two_levels)),
    )
    three, one = dist.new_group([0, 1, 2]), dist.new_group([3])  # on every rank, as new_group asks for
    uneven = DeviceMesh.from_group(three if group.rank < 3 else one, "cpu")
    refused("no equal parts of all 4 ranks", lambda: group.wrap(fully_shard(network(), mesh=uneven), Dense()))
    dist.barrier()
    group.leave()


if __name__ == "__main__":
    main()
