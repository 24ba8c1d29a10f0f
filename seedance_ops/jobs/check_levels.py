"""Whether a job that compresses between nodes has nodes, and devices, that this can be done with."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.jobs.findings import Finding, Path
from seedance_ops.jobs.resolvable import resolvable
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import ResolvedVariant
from seedance_ops.training.compression.config import ByElementConfig, MixedPrecisionConfig

_RANKS = (("num_nodes",), ("resources",), ("workload", "launch"))
_PARALLELISM = ("workload", "parallelism")


def level_findings(job: TrainingJob) -> Iterator[Finding]:
    """Faults of ``gradient_compression.two_levels``."""
    for variant in resolvable(job):
        if isinstance(variant.compression, ByElementConfig) and variant.compression.two_levels:
            yield from _of(("variants", variant.name, "gradient_compression", "two_levels"), variant)


def _of(path: Path, variant: ResolvedVariant) -> Iterator[Finding]:
    if variant.num_nodes == 1 and variant.world_size > 1:
        yield Finding(
            path,
            f"all {variant.world_size} ranks are on one node, so there is nothing to compress between nodes",
            suggestion="leave two_levels out, or set num_nodes",
            reads=_RANKS,
        )
    if variant.workload.parallelism == "fsdp_replicated":
        yield Finding(
            path,
            "with parallelism: fsdp_replicated gradients are averaged within the node already, and "
            "compressed between nodes",
            suggestion="leave two_levels out",
            reads=(_PARALLELISM,),
        )
    compression = variant.compression
    devices = compression.device if isinstance(compression, MixedPrecisionConfig) else ()
    if not isinstance(devices, str) and len(devices) > 1:
        yield Finding(
            path,
            f"two levels need one kind of device, and gradient_compression.device lists {len(devices)}",
            suggestion="leave two_levels out, or name one device",
            reads=((*path[:-1], "device"),),
        )
