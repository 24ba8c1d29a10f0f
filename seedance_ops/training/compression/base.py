"""The interface of a gradient reduction: what it does to a bucket, what it sends, what it must remember."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

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
class Reduction:
    """One bucket's reduction under way."""

    future: torch.futures.Future[torch.Tensor]
    """Yields the reduced bucket: the mean gradient over all ranks."""
    bytes_sent: int
    """Measured: derived from the size of the tensors that were handed to the collective."""


class GradientReduction(Protocol):
    """A way to average gradients over ranks, called by DDP once per bucket and step.

    Implementations keep their state by parameter name and decide per parameter, never per bucket: DDP
    arranges its buckets anew after the first step, and a resumed run would otherwise differ.
    """

    name: str

    def bind(self, parameter_names: Mapping[int, str]) -> None:
        """Learn the name of each parameter, by ``id``; called once, before the first step."""

    def reduce(self, bucket: Bucket) -> Reduction:
        """Issue the bucket's one collective and return without waiting for it."""

    def declared_bytes(self, sizes: Sequence[int], world_size: int) -> int:
        """Bytes one rank sends for a bucket of parameters of these sizes, by the collective's formula."""

    def state_dict(self) -> dict[str, torch.Tensor]:
        """This rank's state between two steps; empty where there is none."""

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take up the state that ``state_dict`` gave."""


def ring_all_reduce_bytes(payload_bytes: int, world_size: int) -> int:
    """Bytes one rank sends in a ring all-reduce: ``2 (n-1)/n`` of the payload.

    Half of them in the reduce-scatter and half in the all-gather; the mean over ranks where the payload
    does not divide evenly.
    """
    return round(2 * (world_size - 1) * payload_bytes / world_size)


def all_gather_bytes(payload_bytes: int, world_size: int) -> int:
    """Bytes one rank sends in an all-gather: its payload to, or on behalf of, each of the others."""
    return (world_size - 1) * payload_bytes
