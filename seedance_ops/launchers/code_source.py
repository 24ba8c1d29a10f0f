"""Where a workload's code comes from: a folder of the project, or a git repository at a ref."""

from __future__ import annotations

import tempfile
from pathlib import Path

from seedance_ops.jobs.workload import GitCode, Workload
from seedance_ops.launchers.code_archive import pack
from seedance_ops.launchers.errors import CodeArchiveError
from seedance_ops.launchers.git import git


def archive_of(workload: Workload, project: Path) -> tuple[bytes, str] | None:
    """The archive of a workload's code and its SHA-256; None where an image holds it.

    Names in the archive are relative to the project, or to the repository's root.

    Raises:
        CodeArchiveError: The folder or the repository cannot be read, or holds too much.
    """
    if workload.code:
        return _from_git(workload.code)
    if workload.workdir:
        return pack(project / workload.workdir, project)
    if workload.entrypoint:
        return pack((project / workload.entrypoint).parent, project)
    return None if workload.image else pack(project, project)


def _from_git(code: GitCode) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory(prefix="seedance-code-") as folder:
        for words in (
            ("init", "--quiet", "."),
            ("fetch", "--quiet", "--depth=1", "--", code.git, code.ref),
            ("checkout", "--quiet", "FETCH_HEAD"),
        ):
            done = git(Path(folder), *words)
            if done.returncode:
                said = done.stderr.decode(errors="replace").strip()[-300:]
                raise CodeArchiveError(f"workload.code: git {words[0]} of {code.ref} failed: {said}")
        return pack(Path(folder), Path(folder))
