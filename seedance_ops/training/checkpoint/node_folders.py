"""Where a run keeps checkpoints on a node, and how they are removed; without torch, for whoever tidies up."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Literal

from seedance_ops.training.plan import LaunchPlan

NEAR_FOLDER = ".checkpoints"
"""Beside the folders of launches."""
_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of the user's own is made in it

NearTier = Literal["memory", "local"]


def run_name(plan: LaunchPlan) -> str:
    """What tells the run from any other that may have used a folder: its place in the object store."""
    return f"{plan.storage.endpoint_url or 'aws'} {plan.storage.uri}"


def node_folders(plan: LaunchPlan, beside: Path | None, node: int) -> dict[NearTier, Path]:
    """A run's folders on a node by tier, the same for all its submissions.

    Args:
        plan: Which run, and the folder for the tier ``local`` where it names one.
        beside: The launch's own folder; the next submission has another, beside it.
        node: Which node, from 0: several may be one machine, in a test at least.
    """
    return {tier: folder / f"{_key(plan)}-node-{node:04d}" for tier, folder in _roots(plan, beside)}


def remove_node_folders(plan: LaunchPlan, beside: Path | None) -> None:
    """Remove what the run keeps on this machine: it is over, and nothing of it is resumed."""
    for _, folder in _roots(plan, beside):
        for path in folder.glob(f"{_key(plan)}-node-*"):
            shutil.rmtree(path, ignore_errors=True)


def _roots(plan: LaunchPlan, beside: Path | None) -> Iterator[tuple[NearTier, Path]]:
    yield "memory", _MEMORY / f"seedance-{os.getuid()}"
    if plan.checkpoint.local_folder is not None:
        yield "local", Path(plan.checkpoint.local_folder)
    elif beside is not None:
        yield "local", beside.parent / NEAR_FOLDER
    else:
        yield "local", Path("/var/tmp") / f"seedance-{os.getuid()}"  # noqa: S108 - as above


def _key(plan: LaunchPlan) -> str:
    return sha256(run_name(plan).encode()).hexdigest()[:20]
