"""Which YAML files are jobs of a bundle, and the stub of each; usable without Airflow."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.source_text import check_text
from seedance_ops.jobs.yaml_nodes import parse_yaml
from seedance_ops.orchestration.stub import duplicate_stub, stub_of, unreadable_stub
from seedance_ops.whole_file import write_whole

BUNDLE_NAME = "jobs"
_LARGEST_FILE = 2 * 1024 * 1024
_WATCHED = "watched-files.json"


class JobFiles:
    """The job files of a project, and others that somebody asked to run.

    Args:
        project: Its ``include/jobs`` is always in.
        folder: The bundle's own folder, which remembers the others.
    """

    def __init__(self, project: ProjectContext, folder: Path) -> None:
        self._project = project
        self._folder = folder
        self._names: dict[str, str | None] = {}

    def watch(self, file: Path) -> None:
        """Have a job file that lies elsewhere in the bundle too, until it is deleted."""
        if file.absolute().is_relative_to(self._project.jobs_folder):
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        watched = sorted({*map(str, self._watched()), str(file.absolute())})
        write_whole(self._folder / _WATCHED, json.dumps(watched))

    def namesake(self, file: Path) -> Path | None:
        """Another file of the bundle that has a job of the same name, if there is one."""
        name = self._job_name(file, _read(file))
        others = (
            other for other in (*self._project.job_files(), *self._watched()) if not other.samefile(file)
        )
        return next((other for other in others if name and self._job_name(other, _read(other)) == name), None)

    def stubs(self) -> dict[str, str]:
        """Every stub by its file name. Of two files with one job name the second is refused."""
        first_of: dict[str, Path] = {}
        stubs: dict[str, str] = {}
        for file in (*self._project.job_files(), *self._watched()):
            try:
                text = _read(file)
            except OSError as error:
                reason = error.strerror or str(error)
                stubs[self._stub_name(file)] = unreadable_stub(source=self._source(file), reason=reason)
                continue
            name = self._job_name(file, text)
            other = first_of.setdefault(name, file) if name else file
            stubs[self._stub_name(file)] = (
                self.stub(file)
                if other == file
                else duplicate_stub(source=self._source(file), other=self._source(other))
            )
        return stubs

    def stub(self, file: Path) -> str:
        """The stub of one job file as it is now."""
        defaults = {self._source(path): _read(path) for path in self._project.defaults_files(file)}
        return stub_of(
            _read(file), source=self._source(file), project=str(self._project.root), defaults=defaults
        )

    def _stub_name(self, file: Path) -> str:
        readable = re.sub(r"[^A-Za-z0-9]+", "_", file.stem).strip("_") or "job"
        return f"{readable}_{hashlib.sha256(self._source(file).encode()).hexdigest()[:8]}.py"

    def _job_name(self, file: Path, text: str) -> str | None:
        """What ``metadata.name`` says; None where the file is too broken to tell, as its own stub will."""
        if text not in self._names:
            try:
                check_text(text, file)
                root = parse_yaml(text, file)
                data = root.plain() if root else None
            except (JobErrors, ValueError):
                data = None
            metadata = data.get("metadata") if isinstance(data, dict) else None
            name = metadata.get("name") if isinstance(metadata, dict) else None
            self._names[text] = name if isinstance(name, str) else None
        return self._names[text]

    def _source(self, file: Path) -> str:
        path = file.absolute()
        root = self._project.root
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)

    def _watched(self) -> list[Path]:
        try:
            listed = json.loads((self._folder / _WATCHED).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return []
        return [path for path in map(Path, listed) if path.exists()]


def _read(file: Path) -> str:
    """A file's text; one that is too large is cut, and its stub then fails with the loader's own message."""
    with file.open("rb") as stream:
        return stream.read(_LARGEST_FILE).decode("utf-8", errors="surrogateescape")
