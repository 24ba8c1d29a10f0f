"""Whether the launcher exists, and can do what the job asks of it."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.jobs.catalog import CatalogError, launcher_profiles
from seedance_ops.jobs.check_secrets import reserved_variable_findings
from seedance_ops.jobs.findings import Finding, Path, listed, nearest
from seedance_ops.jobs.profiles import LauncherProfile
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.training_job import TrainingJob

_LAUNCHER: Path = ("launcher",)


def launcher_findings(job: TrainingJob, project: ProjectContext | None) -> Iterator[Finding]:
    """The launcher's faults; without a project, those of a profile written inline."""
    if not isinstance(job.launcher, str):
        yield from reserved_variable_findings(job.launcher.env, (*_LAUNCHER, "env"))
        yield from _beyond(job.launcher, job)
        return
    if project is None:
        return
    try:
        known = launcher_profiles(project)
    except CatalogError as error:
        yield Finding(_LAUNCHER, str(error))
        return
    if job.launcher not in known:
        yield Finding(_LAUNCHER, "no such launcher profile", listed(known), nearest(job.launcher, known))
        return
    yield from _beyond(known[job.launcher], job)


def _beyond(profile: LauncherProfile, job: TrainingJob) -> Iterator[Finding]:
    """What the launcher would ignore: refused, since a run must be what its file says."""
    if profile.kind != "local":
        return
    asked: dict[Path, tuple[bool, str]] = {
        ("num_nodes",): (job.num_nodes > 1, "num_nodes must be 1"),
        ("workload", "image"): (job.workload.image is not None, "it cannot use an image"),
        ("workload", "inputs"): (bool(job.workload.inputs), "it mounts no inputs; pass a path in args"),
        ("resources", "shm_size"): (job.resources.shm_size is not None, "shm_size has no effect"),
    }
    for path, (is_asked, consequence) in asked.items():
        if is_asked:
            yield Finding(
                path,
                f"the local launcher runs on one machine without containers: {consequence}",
                reads=(_LAUNCHER,),
            )
