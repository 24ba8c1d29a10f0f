"""Whether the program that a job names exists in the project."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

from seedance_ops.jobs.findings import Finding, Path, nearest
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.training_job import TrainingJob

_WORKDIR: Path = ("workload", "workdir")
_IS_FOLDER = "is a folder, name the script in it"
_SCRIPT = re.compile(r"(?![-/])[^\s*?$~]+\.py")
"""A word of ``command`` that means a file of the project: no option, absolute path or shell text."""


def program_findings(job: TrainingJob, project: ProjectContext) -> Iterator[Finding]:
    """What is missing from the project, or lies outside it."""
    workload, root = job.workload, project.root
    if workload.code is not None:
        return  # in a repository that is fetched when the run is planned
    if workload.workdir is not None:
        misplaced = list(_folder_findings(workload.workdir, root))
        yield from misplaced
        if misplaced:
            return
    folder = root / (workload.workdir or "")
    if workload.entrypoint is not None:
        path = ("workload", "entrypoint")
        misnamed = list(_script_findings(path, workload.entrypoint, folder, root))
        yield from misnamed
        is_folder = any(finding.message == _IS_FOLDER for finding in misnamed)
        if not workload.entrypoint.endswith(".py") and not is_folder:
            yield Finding(path, "not a Python file", suggestion="use command for any other program")
    if workload.image is None:  # else the image may hold it
        for index, word in enumerate(workload.command or ()):
            if _SCRIPT.fullmatch(word):
                yield from _script_findings(("workload", "command", index), word, folder, root)


def _folder_findings(written: str, root: pathlib.Path) -> Iterator[Finding]:
    allowed = f"a folder below {root}"
    if problem := _outside_or_unreadable(root / written, root):
        yield Finding(_WORKDIR, problem, allowed)
    elif not (root / written).is_dir():
        yield Finding(_WORKDIR, "there is no such folder in the project", allowed, _near(written, root))


def _script_findings(path: Path, written: str, folder: pathlib.Path, root: pathlib.Path) -> Iterator[Finding]:
    allowed = f"a file below {folder}"
    if problem := _outside_or_unreadable(folder / written, root):
        yield Finding(path, problem, allowed, reads=(_WORKDIR,))
    elif (folder / written).is_dir():
        yield Finding(path, _IS_FOLDER, allowed, reads=(_WORKDIR,))
    elif not (folder / written).is_file():
        message = "missing entrypoint: there is no such file in the project"
        yield Finding(path, message, allowed, _near(written, folder), reads=(_WORKDIR,))


def _outside_or_unreadable(file: pathlib.Path, root: pathlib.Path) -> str | None:
    try:
        resolved = file.resolve()
        resolved.exists()
    except (OSError, RuntimeError, ValueError) as error:
        return f"cannot be looked up: {error}"
    return None if resolved.is_relative_to(root.resolve()) else "lies outside the project"


def _near(written: str, folder: pathlib.Path) -> str | None:
    """The existing name most like a missing one, written as the key wants it."""
    parent = pathlib.PurePosixPath(written).parent
    try:
        names = [entry.name for entry in (folder / parent).iterdir()]
    except (OSError, ValueError):
        return None
    near = nearest(pathlib.PurePosixPath(written).name, names)
    return (parent / near).as_posix() if near else None
