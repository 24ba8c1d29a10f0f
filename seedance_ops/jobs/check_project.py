"""Whether what a job names exists in the project: its program and its launcher profile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seedance_ops.jobs.catalog import CatalogError, launcher_profiles
from seedance_ops.jobs.findings import Finding, listed, nearest
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.training_job import TrainingJob


def project_findings(job: TrainingJob, project: ProjectContext) -> Iterator[Finding]:
    """What is missing from the project, or lies outside it."""
    yield from _program_findings(job, project.root)
    yield from _launcher_findings(job, project)


def _program_findings(job: TrainingJob, root: Path) -> Iterator[Finding]:
    workload = job.workload
    if workload.code is not None:
        return  # in a repository that is fetched when the run is planned
    folder = root
    if workload.workdir is not None:
        folder = root / workload.workdir
        yield from _file_findings(("workload", "workdir"), folder, root, is_folder=True)
    if workload.entrypoint is not None:
        path = ("workload", "entrypoint")
        yield from _file_findings(path, folder / workload.entrypoint, root, is_folder=False)
        if not workload.entrypoint.endswith(".py"):
            yield Finding(path, "not a Python file", suggestion="use command for any other program")


def _file_findings(path: tuple[str, str], file: Path, root: Path, *, is_folder: bool) -> Iterator[Finding]:
    kind = "folder" if is_folder else "file"
    try:
        resolved = file.resolve()
        exists = resolved.is_dir() if is_folder else resolved.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        yield Finding(path, f"cannot be looked up: {error}")
        return
    if not resolved.is_relative_to(root.resolve()):
        yield Finding(path, "lies outside the project", allowed=f"a {kind} below {root}")
    elif not exists:
        near = nearest(file.name, _names_in(file.parent))
        suggestion = (file.parent / near).relative_to(root).as_posix() if near else None
        yield Finding(path, f"there is no such {kind} in the project", f"a {kind} below {root}", suggestion)


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _launcher_findings(job: TrainingJob, project: ProjectContext) -> Iterator[Finding]:
    if not isinstance(job.launcher, str):
        return
    try:
        known = launcher_profiles(project)
    except CatalogError as error:
        yield Finding(("launcher",), str(error))
        return
    if job.launcher not in known:
        yield Finding(("launcher",), "no such launcher profile", listed(known), nearest(job.launcher, known))
