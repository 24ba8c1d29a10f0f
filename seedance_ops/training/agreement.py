"""Ranks that were told different things stop before their first collective, which would hang or mix them up.

They compare over the store by which a process group is found, since a group of ranks that differ in backend
or number cannot even be made. Rank 0 reads what each of the others was told, and publishes the verdict.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch._C._distributed_c10d import Store

from seedance_ops.training.config import StopCondition
from seedance_ops.training.environment import JobEnvironment
from seedance_ops.training.errors import ConfigurationError, TrainingError

Value = str | int | float | bool | None
Told = Mapping[str, Value]
"""What a rank was told, by the key that a person would look for."""

PATIENCE_S = 300.0
"""How long a rank waits for the others to start: interpreters on a slow file system differ by minutes."""

_PREFIX = "seedance/agreement"
_VERDICT = f"{_PREFIX}/verdict"
_READ = f"{_PREFIX}/read"
_FAREWELL_S = 10.0
_POLL_S = 0.02
_MISSING = object()


def what_was_told(
    environment: JobEnvironment, *, batch_per_rank: int, stop: StopCondition, seed: int
) -> Told:
    """What decides which collectives a rank calls and with what; no secrets and no addresses."""
    plan = environment.plan
    identity = {"job", "job_hash", "run_id", "variant", "submission"}
    of_plan = identity | {"quality", "checkpoint", "device_profiles"}
    return {
        "SEEDANCE_PLAN": "none" if plan is None else "given",  # its path may differ between nodes
        **_flat("gradient_compression", environment.compression.model_dump(mode="json")),
        "workload.batch.per_rank": batch_per_rank,
        **_flat("workload.stop", stop.model_dump(mode="json")),
        "seed": seed,
        **({} if plan is None else _flat("", plan.model_dump(mode="json", include=of_plan))),
    }


def agree(told: Told, rank: int, world_size: int, store: Store, patience_s: float = PATIENCE_S) -> None:
    """Compare with the other ranks; every rank calls it once.

    Args:
        told: Must not hold secrets: it goes into messages.
        rank: This one.
        world_size: As this rank was told; the others may differ.
        store: That all ranks share.
        patience_s: For ranks that have not come yet.

    Raises:
        ConfigurationError: On every rank, where two of them differ; names both, the keys, and the values.
        TrainingError: Where a rank does not come.
    """
    if rank == 0:
        difference = _first_difference(told, world_size, store, patience_s)
        store.set(_VERDICT, difference)
    else:
        store.set(f"{_PREFIX}/{rank}", json.dumps(dict(told)))
        difference = _read(store, _VERDICT, "rank 0 has not compared configurations", 2 * patience_s)
    if difference:
        _part(rank, world_size, store)
        raise ConfigurationError(difference)


def differences(rank: int, told: Told, other: int, other_told: Told) -> str:
    """What two ranks differ in, in one sentence; empty where they agree."""
    pairs = {
        key: (told.get(key, _MISSING), other_told.get(key, _MISSING))
        for key in [*told, *(key for key in other_told if key not in told)]
    }
    differing = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
    # A key that only one of them knows follows from another one: what an algorithm has in keys of its own.
    known_to_both = {key: pair for key, pair in differing.items() if _MISSING not in pair}
    phrases = [
        f"rank {rank} has {key} {_said(mine)}, rank {other} has {_said(theirs)}"
        for key, (mine, theirs) in (known_to_both or differing).items()
    ]
    return "; ".join(phrases)


def _first_difference(told: Told, world_size: int, store: Store, patience_s: float) -> str:
    """What rank 0 and the first rank that differs from it differ in."""
    until_s = time.monotonic() + patience_s
    for other in range(1, world_size):
        left_s = max(1.0, until_s - time.monotonic())
        answer = _read(store, f"{_PREFIX}/{other}", f"rank {other} of {world_size} has not started", left_s)
        if difference := differences(0, told, other, json.loads(answer)):
            return f"ranks were told different things: {difference}; start all of them with the same"
    return ""


def _read(store: Store, key: str, complaint: str, patience_s: float) -> str:
    try:
        store.wait([key], timedelta(seconds=patience_s))
    except dist.DistStoreError as error:
        raise TrainingError(f"{complaint} after {patience_s:.0f} s; its own log says why") from error
    return store.get(key).decode()


def _part(rank: int, world_size: int, store: Store) -> None:
    """Rank 0 may hold the store, and a launcher ends all ranks with the first: it leaves last."""
    store.add(_READ, 1)
    until_s = time.monotonic() + _FAREWELL_S
    while rank == 0 and store.add(_READ, 0) < world_size and time.monotonic() < until_s:
        time.sleep(_POLL_S)


def _said(value: object) -> str:
    if value is _MISSING:
        return "no such key"
    return "none" if value is None else str(value)


def _flat(prefix: str, value: Any) -> dict[str, Value]:
    """The leaves of nested mappings by dotted key."""
    if not isinstance(value, dict):
        return {prefix: value}
    return {
        path: leaf
        for key, inner in value.items()
        for path, leaf in _flat(f"{prefix}.{key}".lstrip("."), inner).items()
    }
