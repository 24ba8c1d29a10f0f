"""Which ranks hold the same shard of a model under FSDP2, and which ways to shard are refused.

What is read of ``FSDPModule`` beyond its public methods is torch 2.13's: its parameter groups, their mesh,
and where each shard stands in the flat gradient. There is no public way to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from torch.distributed.tensor import DTensor

from seedance_ops.training.compression.base import GradientReduction
from seedance_ops.training.errors import ConfigurationError

_WHAT_WORKS = (
    "apply fully_shard with a one-dimensional mesh over the ranks of a node, and the session averages across"
)


@dataclass(frozen=True)
class ShardedModule:
    """A module that ``fully_shard`` was applied to, and its one group of parameters."""

    module: FSDPModule
    parameters: FSDPParamGroup


@dataclass(frozen=True)
class Replicas:
    """This rank's place in the model's sharding."""

    group: dist.ProcessGroup
    """The ranks that hold the same shard as this one."""
    ranks: Sequence[int]
    """Of the group."""

    @property
    def number(self) -> int:
        """Copies of the model; with one there is nothing to average."""
        return len(self.ranks)


def is_sharded(model: nn.Module) -> bool:
    """Whether ``fully_shard`` was applied to the model or to a part of it."""
    return any(isinstance(module, FSDPModule) for module in model.modules())


def sharded_modules(model: nn.Module) -> list[ShardedModule]:
    """The model's sharded modules, outermost first; raises ``ConfigurationError`` for unsupported ones."""
    found = []
    for name, module in model.named_modules():
        if isinstance(module, FSDPModule):
            groups = module._get_fsdp_state()._fsdp_param_groups
            if len(groups) > 1:
                raise ConfigurationError(
                    f"fully_shard made {len(groups)} parameter groups of {name or 'the model'}: torch gives "
                    "them one all-reduce hook between them, which cannot tell whose gradients it gets; leave "
                    "shard_placement_fn out, or apply fully_shard to smaller modules"
                )
            found += [ShardedModule(module, group) for group in groups]
    for sharded in found:
        mesh = sharded.parameters.mesh_info.mesh
        if mesh.ndim != 1:
            raise ConfigurationError(
                f"fully_shard was applied with a mesh of {mesh.ndim} dimensions ({_dimensions(mesh)}): torch "
                f"would average across replicas itself, before any compression; {_WHAT_WORKS}"
            )
    _refuse_unsharded(model)
    return found


def find_replicas(sharded: Sequence[ShardedModule]) -> Replicas:
    """Make the groups of ranks that hold the same shard; a collective call.

    Raises:
        ConfigurationError: On every rank, where the ranks' meshes are no equal parts of all ranks.
    """
    meshes = {tuple(_ranks_of(module)) for module in sharded}
    everywhere: list[set[tuple[int, ...]]] = [set()] * dist.get_world_size()
    dist.all_gather_object(everywhere, meshes)
    parts = sorted(set().union(*everywhere))
    if sorted(rank for part in parts for rank in part) != list(range(dist.get_world_size())) or (
        len({len(part) for part in parts}) > 1
    ):
        raise ConfigurationError(
            f"the model is sharded over {', '.join(map(str, parts))}: these are no equal parts of all "
            f"{dist.get_world_size()} ranks; {_WHAT_WORKS}"
        )
    for ranks in zip(*parts, strict=True):  # every rank makes every group
        group = dist.new_group(list(ranks))
        if dist.get_rank() in ranks:
            assert isinstance(group, dist.ProcessGroup)
            own = Replicas(group, ranks)
    return own


def refuse_compression(reduction: GradientReduction, replicas: Replicas, *, loss_is_scaled: bool) -> None:
    """Raise ``ConfigurationError`` for what cannot be done to the gradients of a sharded model."""
    name = reduction.name
    if name == "local_updates":
        raise ConfigurationError(
            "gradient_compression.algorithm local_updates averages whole parameters, of which a rank has "
            "only shards under fully_shard: use another algorithm, or DDP"
        )
    if name == "dense":
        return
    if replicas.number == 1 and dist.get_world_size() > 1:
        raise ConfigurationError(
            f"fully_shard spans all {dist.get_world_size()} ranks, so there are no replicas to average "
            f"across and gradient_compression.algorithm {name} has nothing to compress: use dense, or "
            f"{_WHAT_WORKS}"
        )
    if loss_is_scaled:
        raise ConfigurationError(
            f"a GradScaler with gradient_compression.algorithm {name} under fully_shard: a step that "
            "overflows in one shard is skipped in all, and the others would carry over what was "
            "never applied: train in bfloat16"
        )


@torch.no_grad()
def start_alike(model: nn.Module, replicas: Replicas) -> None:
    """Give every replica the first one's parameters and buffers, as DDP does; a collective call."""
    for tensor in (*model.parameters(), *model.buffers()):
        local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
        if local.numel():
            dist.broadcast(local.detach(), src=replicas.ranks[0], group=replicas.group)


def local_shape(parameter: torch.Tensor) -> torch.Size:
    """Of this rank's shard, or of the whole parameter where it is not sharded."""
    return parameter.to_local().shape if isinstance(parameter, DTensor) else parameter.shape


def _refuse_unsharded(model: nn.Module) -> None:
    for name, parameter in model.named_parameters():
        if not isinstance(parameter, DTensor):
            raise ConfigurationError(
                f"parameter {name} is in no module that fully_shard was applied to, so nothing would average "
                "its gradient: apply fully_shard to the whole model, after its parts"
            )
        if parameter.device_mesh.ndim != 1:
            raise ConfigurationError(
                f"parameter {name} is distributed over a mesh of {parameter.device_mesh.ndim} dimensions "
                f"({_dimensions(parameter.device_mesh)}), as tensor parallelism does: {_WHAT_WORKS}"
            )


def _ranks_of(sharded: ShardedModule) -> list[int]:
    ranks: list[int] = sharded.parameters.mesh_info.mesh.mesh.tolist()
    return ranks


def _dimensions(mesh: DeviceMesh) -> str:
    return " × ".join(str(size) for size in mesh.shape)
