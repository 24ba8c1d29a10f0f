"""Which files of a folder are its code: what git keeps or would keep, and never what it ignores."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from seedance_ops.launchers.errors import CodeArchiveError
from seedance_ops.launchers.git import git

_NEVER_CODE = (
    ".venv",
    ".airflow",
    "__pycache__",
    "*.pyc",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "node_modules",
    ".env",
    ".env.*",
)
"""Left out unless git tracks it: caches change during a run, and ``.env`` holds secrets."""
_FOLDERS_NEVER_CODE = {"__pycache__", "node_modules"}


def code_files(folder: Path) -> list[Path]:
    """The files below a folder that belong to its code, in the order of their names.

    In a git work tree these are the tracked files, and the untracked ones that nothing ignores; elsewhere,
    all but those whose name, or whose folder's name, begins with a dot.

    Raises:
        CodeArchiveError: A link leads out of the folder or to a folder, a nested repository holds files, or
            git cannot tell.
    """
    found = sorted(_kept_by_git(folder) if _git_decides(folder) else _without_dotfiles(folder))
    inside = folder.resolve()
    for path in found:
        _refuse_what_cannot_be_packed(path, inside)
    return [path for path in found if path.is_file()]


def _git_decides(folder: Path) -> bool:
    """Whether the folder is in a work tree that does not ignore it as a whole, as a home's dotfiles may."""
    try:
        answer = git(folder, "rev-parse", "--is-inside-work-tree")
    except FileNotFoundError:
        return False
    if answer.returncode:
        words = answer.stderr.decode(errors="replace").strip()
        if "not a git repository" in words:
            return False
        raise CodeArchiveError(f"{folder}: git cannot tell which files are code: {words[-300:]}")
    return answer.stdout.strip() == b"true" and git(folder, "check-ignore", "--quiet", ".").returncode == 1


def _kept_by_git(folder: Path) -> Iterable[Path]:
    excluded = [word for pattern in _NEVER_CODE for word in ("--exclude", pattern)]
    answer = git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", *excluded)
    if answer.returncode:
        words = answer.stderr.decode(errors="replace").strip()
        raise CodeArchiveError(f"{folder}: git cannot list the files: {words[-300:]}")
    return {folder / os.fsdecode(name) for name in answer.stdout.split(b"\0") if name}


def _without_dotfiles(folder: Path) -> Iterable[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] != "." and name not in _FOLDERS_NEVER_CODE]
        links = [name for name in folders if Path(parent, name).is_symlink()]
        for name in [*names, *links]:
            if name[0] != "." and not name.endswith(".pyc"):
                yield Path(parent, name)


def _refuse_what_cannot_be_packed(path: Path, inside: Path) -> None:
    if path.is_symlink():
        if not path.resolve().is_relative_to(inside):
            raise CodeArchiveError(f"{path}: links out of the workload's folder; copy the file into it")
        if path.is_dir():
            raise CodeArchiveError(
                f"{path}: a link to a folder, which is not archived; copy the folder instead"
            )
    elif path.is_dir() and any(path.iterdir()):  # an empty one is a submodule that was not checked out
        raise CodeArchiveError(
            f"{path}: a git repository of its own, whose files are not archived; remove its .git, or point "
            "workload.workdir at it"
        )
