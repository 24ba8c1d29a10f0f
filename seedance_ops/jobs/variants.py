"""Variants: what a job tries against each other, and one variant's settings once they are resolved."""

from __future__ import annotations

from pydantic import Field, JsonValue

from seedance_ops.jobs.execution import Resources
from seedance_ops.jobs.names import Name
from seedance_ops.jobs.profiles import LauncherChoice
from seedance_ops.jobs.workload import Workload
from seedance_ops.strict_model import StrictModel
from seedance_ops.training.checkpoint.config import CheckpointConfig
from seedance_ops.training.compression.config import CompressionConfig, DenseConfig
from seedance_ops.training.schedule import Schedule

OVERRIDABLE = ("workload", "launcher", "num_nodes", "resources", "checkpoint")
"""The keys of a job whose values a variant's ``set`` may change."""


class Variant(StrictModel):
    """A treatment: cost-saving strategies, and settings that differ from the job's own."""

    gradient_compression: CompressionConfig | None = None
    """How gradients are compressed for the all-reduce; absent: not at all (R1.3)."""
    overrides: dict[str, JsonValue] = Field(default={}, alias="set")
    """Dotted paths into workload, launcher, num_nodes, resources or checkpoint, and their values here."""


class Treatment(StrictModel):
    """The settings that a variant may change."""

    workload: Workload
    """The program, its data and its work."""
    launcher: LauncherChoice
    """A profile of ``include/catalog/launchers.yaml``, or one written inline."""
    num_nodes: int = Field(default=1, ge=1, le=10_000)
    """Nodes that work together on one run."""
    resources: Resources = Resources()
    """What each node gives."""
    checkpoint: CheckpointConfig = CheckpointConfig()
    """When checkpoints are taken and which are kept; applies to ``runtime: session``."""

    @property
    def processes_per_node(self) -> int:
        """Processes the launcher starts on each node."""
        return self.resources.count if self.workload.launch == "torchrun" else 1

    @property
    def world_size(self) -> int:
        """Processes over all nodes."""
        return self.num_nodes * self.processes_per_node

    @property
    def steps(self) -> Schedule | None:
        """The steps of a run; ``None`` where only the program knows: of ``stop.tokens``, or of no stop."""
        stop, batch = self.workload.stop, self.workload.batch
        if stop is None or batch is None or stop.tokens is not None:
            return None
        return Schedule(stop, batch.per_rank, self.world_size)

    @property
    def total_steps(self) -> int | None:
        """Optimiser steps of a run, all whole; ``None`` where only the program knows."""
        return self.steps.whole_steps() if self.steps else None

    @property
    def work(self) -> tuple[str, int] | None:
        """Unit and amount of the work that a run's whole steps do; ``None`` where only the program knows."""
        if self.steps is not None:
            return "samples", self.steps.whole_steps() * self.steps.samples_per_step
        stop = self.workload.stop
        return ("tokens", stop.tokens) if stop is not None and stop.tokens is not None else None


class Difference(StrictModel):
    """One setting in which a variant differs from another."""

    path: str
    """Dotted path."""
    baseline: JsonValue
    """The other's value; null where it has none."""
    variant: JsonValue
    """This variant's value; null where it has none."""


class ResolvedVariant(Treatment):
    """One variant of a job with everything applied: what a launcher needs."""

    name: Name
    compression: CompressionConfig = DenseConfig()

    def argv(self) -> tuple[str, ...]:
        """The command line without the launch method."""
        return self.workload.argv()

    def difference_from(self, baseline: ResolvedVariant) -> list[Difference]:
        """The settings in which this variant differs, for the report; sorted by path."""
        ours, theirs = (
            flatten(variant.model_dump(mode="json", exclude={"name"}, exclude_none=True))
            for variant in (self, baseline)
        )
        return [
            Difference(path=path, baseline=theirs.get(path), variant=ours.get(path))
            for path in sorted(ours.keys() | theirs.keys())
            if ours.get(path) != theirs.get(path)
        ]


def flatten(data: JsonValue, prefix: str = "") -> dict[str, JsonValue]:
    """The leaves of nested mappings by dotted path; lists count as leaves."""
    if not isinstance(data, dict) or not data:
        return {prefix: data} if prefix else {}
    leaves: dict[str, JsonValue] = {}
    for key, value in data.items():
        leaves |= flatten(value, f"{prefix}.{key}" if prefix else key)
    return leaves
