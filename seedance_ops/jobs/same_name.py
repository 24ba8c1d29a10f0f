"""Find jobs of one name: they would be one DAG and one folder in the object store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from seedance_ops.jobs.errors import JobError, JobErrors, Place
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.source_text import check_text, read_text
from seedance_ops.jobs.yaml_nodes import parse_yaml


@dataclass(frozen=True)
class NamedFile:
    """A job file and the name of its job."""

    name: str
    source: Path
    place: Place | None
    """Where the name stands."""


def same_name_errors(files: Iterable[NamedFile], project: ProjectContext | None) -> list[JobError]:
    """An error for each file whose name another of them has, or another job file of its project."""
    by_path = {file.source.absolute(): file for file in files}
    errors: list[JobError] = []
    for path, file in by_path.items():
        others = (other.source for at, other in by_path.items() if other.name == file.name and at != path)
        other = next(others, None) or next(_others_in_project(file, project, set(by_path)), None)
        if other is not None:
            errors.append(
                JobError(
                    "two jobs of one name",
                    file.place,
                    "metadata.name",
                    file.name,
                    suggestion=f"rename one; the name stands also in {other}",
                )
            )
    return errors


def namesake_warnings(files: Iterable[NamedFile], project: ProjectContext | None) -> Iterator[JobError]:
    """A warning for each file outside its project's jobs whose name one of them has: it cannot be run."""
    for file in files:
        around = _project_of(file, project)
        if around is None or _is_among(around, file):
            continue
        other = next((path for path in around.job_files() if _has_name(path, file.name)), None)
        if other is not None:
            yield JobError(
                f"seedance run will refuse this file: {other} has a job of the same name",
                file.place,
                "metadata.name",
                file.name,
                suggestion="another name, if the file is to be run",
            )


def _project_of(file: NamedFile, project: ProjectContext | None) -> ProjectContext | None:
    return project or ProjectContext.around(file.source)


def _is_among(project: ProjectContext, file: NamedFile) -> bool:
    return file.source.absolute().is_relative_to(project.jobs_folder.absolute())


def _others_in_project(file: NamedFile, project: ProjectContext | None, known: set[Path]) -> Iterator[Path]:
    project = _project_of(file, project)
    if project is None or not _is_among(project, file):
        return  # a file elsewhere becomes no DAG by itself
    for path in project.job_files():
        if path.absolute() not in known and _has_name(path, file.name):
            yield path


def _has_name(path: Path, name: str) -> bool:
    """Whether a file's job is called so; a file that cannot be read has an error of its own."""
    try:
        text = read_text(path)
        if not re.search(rf"(?<![a-z0-9-]){re.escape(name)}(?![a-z0-9-])", text):
            return False  # most files: parsing takes a hundred times as long
        check_text(text, path)
        root = parse_yaml(text, path)
    except JobErrors:
        return False
    data = root.plain() if root else None
    metadata = data.get("metadata") if isinstance(data, dict) else None
    return isinstance(metadata, dict) and metadata.get("name") == name
