"""The tiers of one run on this rank: which a checkpoint goes to, and where the near ones lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seedance_ops.training.checkpoint.config import Cadence
from seedance_ops.training.checkpoint.file_tier import FileTier
from seedance_ops.training.checkpoint.node_folders import node_folders, run_name
from seedance_ops.training.checkpoint.object_tier import ObjectTier
from seedance_ops.training.plan import LaunchPlan


@dataclass(frozen=True)
class Places:
    """The tiers, nearest first."""

    near: tuple[FileTier, ...]
    object: ObjectTier
    cadence: Cadence

    @classmethod
    def of(cls, plan: LaunchPlan, beside: Path | None, node: int, tier: ObjectTier) -> Places:
        """See ``node_folders``.

        Args:
            plan: What is asked for.
            beside: The launch's own folder.
            node: Which one this is, from 0.
            tier: The object store's.
        """
        cadence = plan.checkpoint.cadence
        near = tuple(
            FileTier(name, root, run_name(plan), plan.job_hash)
            for name, root in node_folders(plan, beside, node).items()
            if getattr(cadence, name)
        )
        return cls(near, tier, cadence)

    def near_of(self, number: int, *, final: bool) -> tuple[FileTier, ...]:
        """Where on the node the checkpoint of that number goes, counted from 1."""
        return tuple(tier for tier in self.near if final or number % getattr(self.cadence, tier.name) == 0)

    def is_far(self, number: int, *, final: bool) -> bool:
        """Whether it goes to the object store."""
        return final or number % self.cadence.object == 0
