"""The interface of a gradient reduction: what it does to a bucket, what it sends, what it must remember."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
import torch.distributed as dist

FP32_BYTES = 4


class Bucket(Protocol):
    """A run of gradients that DDP reduces at once: the part of ``dist.GradBucket`` that is used."""

    def index(self) -> int:
        """Position in the step's order; 0 is reduced first."""

    def buffer(self) -> torch.Tensor:
        """All gradients, flat."""

    def gradients(self) -> list[torch.Tensor]:
        """Views into the buffer, one per parameter."""

    def parameters(self) -> list[torch.Tensor]:
        """The parameters, in the gradients' order."""


@dataclass(frozen=True)
class Bound:
    """What a reduction is told of the training, once."""

    names: Mapping[int, str]
    """Name of each parameter, by ``id``."""
    device: torch.device
    """Where the gradients are."""
    optimizer: torch.optim.Optimizer | None = None
    """For reductions that go by its state."""
    loss_scale: Callable[[], float] | None = None
    """What the loss, and so every gradient, is multiplied by now; none where it is not scaled."""
    group: dist.ProcessGroup | None = None
    """The ranks that average; none for all."""
    shapes: Mapping[str, torch.Size] = field(default_factory=dict)
    """Of each parameter's gradient, by name; of a rank's shard, under FSDP."""
    local_world_size: int = 1
    """Ranks on this rank's node, L."""
    local_rank: int = 0
    """This rank among those."""


@dataclass
class Reduction:
    """One bucket's reduction under way."""

    future: torch.futures.Future[torch.Tensor]
    """Yields the reduced bucket: the mean gradient over all ranks."""
    bytes_sent: int = 0
    """Measured: derived from the size of the tensors that were handed to the collectives. Holds once the
    future is done."""


@dataclass(frozen=True)
class Exchange:
    """What a reduction sent outside of the gradients' buckets."""

    bytes_sent: int = 0
    """Measured, as in ``Reduction``."""
    declared_bytes: int = 0
    """By the formula."""

    def __add__(self, other: Exchange) -> Exchange:
        return Exchange(self.bytes_sent + other.bytes_sent, self.declared_bytes + other.declared_bytes)


class GradientReduction(Protocol):
    """A way to average gradients over ranks, called by DDP once per bucket and step.

    Implementations keep their state by parameter name and decide per parameter, never per bucket: DDP
    arranges its buckets anew after the first step, and a resumed run would otherwise differ.
    """

    name: str

    @property
    def fits_any_world_size(self) -> bool:
        """Whether the state is the same on every rank after ``meet``, and can be taken up by any number."""

    def bind(self, bound: Bound) -> None:
        """Learn about the training; called once on every rank, before the first step. May be collective."""

    def close(self) -> None:
        """Let go of what ``bind`` acquired; called before the process group ends."""

    def reduce(self, bucket: Bucket) -> Reduction:
        """Start the bucket's reduction and return without waiting for it.

        At most one collective of the default group; whatever needs more has a ``Lane``.
        """

    def declared_bytes(self, shapes: Sequence[Sequence[int]], world_size: int) -> int:
        """Bytes one rank sends for a bucket of parameters of these shapes, by the collective's formula."""

    def end_step(self) -> Exchange:
        """The optimiser has stepped, on every rank; called before anything else uses the parameters."""

    def meet(self) -> Exchange:
        """Make parameters and optimiser alike on every rank, before they are saved; a collective call.

        Only for a reduction that lets them differ between steps is there anything to do.
        """

    def state_dict(self) -> dict[str, torch.Tensor]:
        """This rank's state between two steps; empty where there is none."""

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take up the state that ``state_dict`` gave."""


class AlikeAfterEachStep:
    """What reductions have in common that give every rank the same gradient: the same step follows."""

    def end_step(self) -> Exchange:
        """Nothing is left to do."""
        return Exchange()

    def meet(self) -> Exchange:
        """The ranks are alike."""
        return Exchange()


def ring_all_reduce_bytes(payload_bytes: int, world_size: int) -> int:
    """Bytes one rank sends in a ring all-reduce: ``2 (n-1)/n`` of the payload.

    Half of them in the reduce-scatter and half in the all-gather; the mean over ranks where the payload
    does not divide evenly.
    """
    return round(2 * (world_size - 1) * payload_bytes / world_size)
