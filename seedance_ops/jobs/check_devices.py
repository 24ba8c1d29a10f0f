"""Whether the devices that mixed-precision compression names are known."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from seedance_ops.cost.catalogue import CatalogueError
from seedance_ops.cost.hardware import HardwareMissing
from seedance_ops.jobs.device_profiles import device_profiles
from seedance_ops.jobs.dotted import DottedPathError
from seedance_ops.jobs.findings import Finding, Path
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.training_job import TrainingJob


def device_findings(job: TrainingJob, project: ProjectContext | None) -> Iterator[Finding]:
    """Faults of ``gradient_compression.device``; without a project nothing is known of devices."""
    for name in job.variants if project else ():
        assert project is not None
        path: Path = ("variants", name, "gradient_compression", "device")
        try:
            device_profiles(job.resolve(name), project)
        except (HardwareMissing, CatalogueError) as error:
            yield Finding(path, str(error))
        except (ValidationError, DottedPathError):
            continue  # found by variant_findings
