"""What rank 0 alone reads or writes, on every rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch.distributed as dist

from seedance_ops.storage.errors import StorageError
from seedance_ops.training.errors import TrainingError

T = TypeVar("T")


def from_rank_zero(value: Callable[[], T]) -> T:
    """Rank 0's value, or on every rank what it raised, since the others would wait for it for ever.

    A collective call.
    """
    answer: list[tuple[T | None, TrainingError | StorageError | None]] = [(None, None)]
    if dist.get_rank() == 0:
        try:
            answer = [(value(), None)]
        except (TrainingError, StorageError) as error:
            answer = [(None, error)]
    dist.broadcast_object_list(answer, src=0)
    found, failure = answer[0]
    if failure is not None:
        raise failure
    return found  # type: ignore[return-value]
