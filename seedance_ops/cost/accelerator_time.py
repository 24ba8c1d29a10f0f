"""What a run's billed accelerator time went into: computing, network, storage, idling, and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from seedance_ops.cost.coupled import UNCHANGED, measured_step, split_step
from seedance_ops.cost.errors import BadQuantity

PATH_COLUMNS = ("path_compute_s", "path_network_s", "path_storage_s")
"""Seconds of the steps' critical path on each resource, summed over a run's steps; NaN where unknown."""
_NOISE = 1e-9
"""Share of the steps' time below which idling is the rounding of a sum."""


@dataclass(frozen=True)
class TimePart:
    """Accelerator hours of one kind."""

    stage: str
    component: str
    tier: str
    hours: float


def time_parts(*, billed_h: float, accelerators: float, seconds: Mapping[str, float]) -> tuple[TimePart, ...]:
    """Parts that sum to ``billed_h``.

    Training is split by the coupled model (R2.1), as it was measured: the critical path of every step on
    compute (with memory, which a record cannot tell apart), network and storage, and what is left of the
    step, ``idle``. A sum over steps is split like a step, because the path is the same chain in each. Where
    no record tells the path, or it is longer than the steps, training is one part beside its checkpoint
    stalls; where not even its time is known, everything is one part.

    Args:
        billed_h: Accelerator hours, over all submissions.
        accelerators: How many.
        seconds: ``train_elapsed_s``, ``checkpoint_stall_s`` and ``PATH_COLUMNS``, each NaN where unknown.
    """
    training_h = seconds["train_elapsed_s"] * accelerators / 3600.0
    if not np.isfinite(training_h):
        return (TimePart("run", "accelerator_time", "-", billed_h),)
    # A clock of the session can run a little ahead of the launcher's: no part may be negative.
    training_h = min(max(training_h, 0.0), billed_h)
    return (
        *(_split(training_h, seconds) or _unsplit(training_h, seconds["checkpoint_stall_s"], accelerators)),
        TimePart("overhead", "idle", "-", billed_h - training_h),
    )


def _split(training_h: float, seconds: Mapping[str, float]) -> tuple[TimePart, ...] | None:
    compute_s, network_s, storage_s = (seconds[name] for name in PATH_COLUMNS)
    elapsed_s = seconds["train_elapsed_s"]
    try:
        step = measured_step(
            compute_s=compute_s, communication_wait_s=network_s, checkpoint_stall_s=storage_s
        )
        found = split_step(step, UNCHANGED, step_time_s=elapsed_s).seconds
    except BadQuantity:  # a path that is unknown, or does not fit into the steps, splits nothing
        return None
    if not elapsed_s > 0.0:
        return None
    hours = {name: training_h * spent_s / elapsed_s for name, spent_s in found.items()}
    idle_h = hours["idle"] if hours["idle"] > _NOISE * training_h else 0.0
    beside = tuple(
        part
        for part in (
            TimePart("train", "accelerator_time", "network", hours["network"]),
            TimePart("checkpoint", "accelerator_time", "-", hours["storage"]),
            TimePart("train", "idle", "-", idle_h),
        )
        if part.hours > 0.0
    )
    compute_h = max(0.0, training_h - sum(part.hours for part in beside))
    return (TimePart("train", "accelerator_time", "compute", compute_h), *beside)


def _unsplit(training_h: float, checkpoint_stall_s: float, accelerators: float) -> Iterator[TimePart]:
    stall_h = float(np.nan_to_num(checkpoint_stall_s)) * accelerators / 3600.0
    stall_h = min(max(stall_h, 0.0), training_h)
    yield TimePart("train", "accelerator_time", "-", training_h - stall_h)
    if stall_h > 0.0:
        yield TimePart("checkpoint", "accelerator_time", "-", stall_h)
