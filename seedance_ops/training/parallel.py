"""Joins the process group and wraps the model for data-parallel training."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch._C._distributed_c10d import HashStore, Store
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from seedance_ops.training.agreement import PATIENCE_S, Told, agree
from seedance_ops.training.compression.base import Bound, GradientReduction
from seedance_ops.training.compression.config import Backend
from seedance_ops.training.compression.fsdp import ShardAveraging
from seedance_ops.training.compression.hook import MeasuredReduction, reduce_gradients
from seedance_ops.training.compression.lane import DRAIN_S
from seedance_ops.training.compression.replicas import (
    find_replicas,
    is_sharded,
    local_shape,
    refuse_compression,
    sharded_modules,
    start_alike,
)
from seedance_ops.training.environment import RankEnvironment
from seedance_ops.training.errors import ConfigurationError, TrainingError

T = TypeVar("T")

_STORE_TIMEOUT = timedelta(minutes=30)  # what torch gives a store that it makes itself
_BACKEND_KEY = "gradient_compression.allreduce_backend"


@dataclass(frozen=True)
class ProcessGroup:
    """This rank's place among the others, and its device."""

    rank: int
    world_size: int
    local_rank: int
    device: torch.device
    local_world_size: int = 1

    @classmethod
    def join(cls, ranks: RankEnvironment, backend: Backend | None, told: Told | None = None) -> ProcessGroup:
        """Join torchrun's group, or make a group of one where there is no torchrun.

        Args:
            ranks: As torchrun says it.
            backend: Of the group; none takes NCCL where there is a GPU, else gloo.
            told: What else this rank was told and all others must have been told too.

        Raises:
            ConfigurationError: Where ranks were told different things, or there is no GPU for NCCL.
            TrainingError: Where a rank does not come.
        """
        cuda = torch.cuda.is_available()
        backend = backend or ("nccl" if cuda else "gloo")
        store: Store = HashStore()
        if ranks.launched:
            store = _meeting_place()
            everything = {"WORLD_SIZE": ranks.world_size, **(told or {}), _BACKEND_KEY: backend}
            agree(everything, ranks.rank, ranks.world_size, store)
        if backend == "nccl" and not cuda:
            raise ConfigurationError(
                "allreduce_backend is nccl, but no GPU is visible to this process; use gloo, or check CUDA"
            )
        if cuda:
            torch.cuda.set_device(ranks.local_rank)
        dist.init_process_group(backend, store=store, rank=ranks.rank, world_size=ranks.world_size)
        device = torch.device("cuda", ranks.local_rank) if cuda else torch.device("cpu")
        return cls(ranks.rank, ranks.world_size, ranks.local_rank, device, ranks.local_world_size)

    @staticmethod
    def leave() -> None:
        """Leave the group, if it was joined."""
        if dist.is_initialized():
            time.sleep(DRAIN_S)
            dist.destroy_process_group()

    def gather(self, value: T) -> list[T]:
        """Every rank's value, by rank; also a barrier."""
        values = [value] * self.world_size
        dist.all_gather_object(values, value)
        return values

    def from_rank_zero(self, value: T) -> T:
        """Rank 0's value, on every rank."""
        values = [value]
        dist.broadcast_object_list(values, src=0)
        return values[0]

    def wrap(
        self,
        model: nn.Module,
        reduction: GradientReduction,
        optimizer: torch.optim.Optimizer | None = None,
        loss_scale: Callable[[], float] | None = None,
    ) -> tuple[nn.Module, MeasuredReduction]:
        """The model under DDP with the measured reduction as its communication hook.

        A model under ``fully_shard`` stays as it is; the reduction averages its shards across replicas.

        Raises:
            ConfigurationError: Where the model is sharded in a way that cannot be averaged, or the reduction
                does not fit the ranks.
        """
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        shapes = {name: local_shape(parameter) for name, parameter in model.named_parameters()}
        if is_sharded(model):
            sharded = sharded_modules(model)
            replicas = find_replicas(sharded)
            refuse_compression(reduction, replicas, loss_is_scaled=loss_scale is not None)
            start_alike(model, replicas)
            reduction.bind(Bound(names, self.device, optimizer, loss_scale, replicas.group, shapes))
            measured = MeasuredReduction(reduction, group=replicas.group, blocking=self.device.type == "cpu")
            ShardAveraging(measured).attach(sharded)
            return model, measured
        bound = Bound(
            *(names, self.device, optimizer, loss_scale),
            shapes=shapes,
            local_world_size=self.local_world_size,
            local_rank=self.local_rank,
        )
        reduction.bind(bound)
        measured = MeasuredReduction(reduction)
        devices = [self.device.index] if self.device.type == "cuda" else None
        wrapped = DistributedDataParallel(model, device_ids=devices)
        wrapped.register_comm_hook(measured, reduce_gradients)
        _settle_buckets(wrapped, measured)
        return wrapped, measured


def _meeting_place() -> Store:
    """The store that torchrun's environment names.

    It does not wait for all ranks (``world_size=-1``): they may have been told different numbers of them.
    """
    try:
        store, _, _ = next(rendezvous("env://?world_size=-1", timeout=timedelta(seconds=PATIENCE_S)))
    except dist.DistError as error:
        raise TrainingError(f"the store of rank 0 does not answer: {error}") from error
    assert isinstance(store, Store)
    store.set_timeout(_STORE_TIMEOUT)
    return store


def _settle_buckets(wrapped: DistributedDataParallel, measured: MeasuredReduction) -> None:
    """Let DDP arrange its final buckets before the first step, by a backward pass of zeros.

    DDP reduces the first step in provisional buckets and all later ones in others. A ring adds a gradient's
    terms in an order that depends on its place in the bucket, so without this a resumed run, whose first
    step is the other run's twenty-sixth, would differ in the last bit from three ranks on.
    """
    parameters = [parameter for parameter in wrapped.parameters() if parameter.requires_grad]
    measured.silent = True
    wrapped.reducer.prepare_for_backward([])
    zeros = [(parameter * 0.0).sum().float() for parameter in parameters]
    torch.autograd.backward(torch.stack(zeros).sum())
    wrapped.reducer._rebuild_buckets()
    measured.silent = False
    for parameter in parameters:
        parameter.grad = None
