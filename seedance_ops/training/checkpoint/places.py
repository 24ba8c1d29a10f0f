"""The tiers of one run on this rank: which a checkpoint goes to, and where the near ones lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from seedance_ops.training.checkpoint.config import Cadence
from seedance_ops.training.checkpoint.file_tier import FileTier
from seedance_ops.training.checkpoint.object_tier import ObjectTier
from seedance_ops.training.plan import LaunchPlan

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of the user's own is made in it


@dataclass(frozen=True)
class Places:
    """The tiers, nearest first."""

    near: tuple[FileTier, ...]
    object: ObjectTier
    cadence: Cadence

    @classmethod
    def of(cls, plan: LaunchPlan, folder: Path, tier: ObjectTier) -> Places:
        """Near ones have folders of this run alone, the same for all its submissions.

        Args:
            plan: What is asked for.
            folder: On the node's disk, for all runs; the plan may name another.
            tier: The object store's.
        """
        cadence = plan.checkpoint.cadence
        run = f"{plan.storage.endpoint_url or 'aws'} {plan.storage.uri}"
        key = str(blake3(run.encode()).hexdigest())[:20]
        roots = {
            "memory": _MEMORY / f"seedance-{os.getuid()}-{key}",
            "local": Path(plan.checkpoint.local_folder or folder) / key,
        }
        near = tuple(
            FileTier(name, root, run, plan.job_hash)
            for name, root in roots.items()
            if getattr(cadence, name)
        )
        return cls(near, tier, cadence)

    def near_of(self, number: int, *, final: bool) -> tuple[FileTier, ...]:
        """Where on the node the checkpoint of that number goes, counted from 1."""
        return tuple(
            tier for tier in self.near if final or number % getattr(self.cadence, tier.name) == 0
        )

    def is_far(self, number: int, *, final: bool) -> bool:
        """Whether it goes to the object store."""
        return final or number % self.cadence.object == 0

