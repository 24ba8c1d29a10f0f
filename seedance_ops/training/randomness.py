"""Seeds the three generators a training script uses, and saves and restores their states exactly."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch

_RANK_STRIDE = 1_000_003
"""Keeps the ranks' streams of one seed apart from those of the next seeds."""


def seed_all(seed: int, rank: int = 0) -> None:
    """Seed torch, Python and NumPy; ranks get streams of their own."""
    value = (seed + rank * _RANK_STRIDE) % 2**32
    torch.manual_seed(value)
    random.seed(value)
    np.random.seed(value)


def random_state() -> dict[str, Any]:
    """The states of all generators, as a tree of tensors and plain values."""
    kind, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    state: dict[str, Any] = {
        "torch": torch.get_rng_state(),
        "python": random.getstate(),
        "numpy": {
            "kind": kind,
            "keys": torch.from_numpy(np.asarray(keys, dtype=np.int64)),
            "position": position,
            "has_gauss": has_gauss,
            "cached": cached,
        },
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(state: dict[str, Any]) -> None:
    """Continue every generator where ``random_state`` found it."""
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    numpy = state["numpy"]
    keys = numpy["keys"].numpy().astype(np.uint32)
    np.random.set_state((numpy["kind"], keys, numpy["position"], numpy["has_gauss"], numpy["cached"]))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
