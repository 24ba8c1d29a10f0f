"""Whether the devices that mixed-precision compression names are known, and can be in one group."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.cost.catalogue import CatalogueError
from seedance_ops.cost.hardware import HardwareMissing
from seedance_ops.jobs.device_profiles import device_profiles
from seedance_ops.jobs.findings import Finding, Path
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.resolvable import resolvable
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import ResolvedVariant
from seedance_ops.training.compression.device import DeviceProfile, mixed_vendors


def device_findings(job: TrainingJob, project: ProjectContext | None) -> Iterator[Finding]:
    """Faults of ``gradient_compression.device``; without a project nothing is known of devices."""
    if project is None:
        return
    for variant in resolvable(job):
        path: Path = ("variants", variant.name, "gradient_compression", "device")
        try:
            devices = device_profiles(variant, project)
        except (HardwareMissing, CatalogueError) as error:
            yield Finding(path, str(error))
        else:
            yield from _group_findings(path, variant, devices)


def _group_findings(
    path: Path, variant: ResolvedVariant, devices: tuple[DeviceProfile, ...]
) -> Iterator[Finding]:
    if len(devices) > max(1, variant.world_size):
        yield Finding(
            path,
            f"{len(devices)} devices for {variant.world_size} ranks",
            reads=(("num_nodes",), ("resources",), ("workload", "launch")),
        )
    vendors = mixed_vendors(devices)
    if vendors and variant.compression.allreduce_backend != "gloo":
        yield Finding(
            path,
            f"devices of several vendors ({', '.join(vendors)}) cannot be in one group of NCCL, RCCL or "
            "XCCL, which do not talk to each other",
            allowed="one vendor's devices, or gloo",
            suggestion="allreduce_backend: gloo",
            reads=((*path[:-1], "allreduce_backend"),),
        )
