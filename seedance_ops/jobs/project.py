"""The project around a job file: its root, its folders and its launcher profiles."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT_VARIABLE = "SEEDANCE_PROJECT"
DEFAULTS_FILE = "defaults.yaml"


@dataclass(frozen=True)
class ProjectContext:
    """Where a project's files lie."""

    root: Path

    @classmethod
    def discover(cls, start: Path) -> ProjectContext | None:
        """The project of ``$SEEDANCE_PROJECT``, else of the nearest folder above that has include/jobs."""
        named = os.environ.get(PROJECT_VARIABLE)
        if named:
            return cls(Path(named).absolute())
        start = start.absolute()
        found = next(
            (folder for folder in (start, *start.parents) if (folder / "include/jobs").is_dir()), None
        )
        return cls(found) if found else None

    @classmethod
    def around(cls, file: Path) -> ProjectContext | None:
        """The project that a job file lies in, else that of the working directory."""
        return cls.discover(file.parent) or cls.discover(Path.cwd())

    @property
    def jobs_folder(self) -> Path:
        """Where job files lie."""
        return self.root / "include" / "jobs"

    @property
    def launchers_file(self) -> Path:
        """The catalogue of launcher profiles."""
        return self.root / "include" / "catalog" / "launchers.yaml"

    @property
    def prices_file(self) -> Path:
        """The price catalogue."""
        return self.root / "include" / "catalog" / "prices.yaml"

    @property
    def hardware_file(self) -> Path:
        """The hardware catalogue: peaks, power, and between which bounds a price is plausible."""
        return self.root / "include" / "catalog" / "hardware.yaml"

    def job_files(self) -> list[Path]:
        """Every job file, in a stable order.

        ``defaults.yaml`` is none, nor is what an editor leaves (``.#job.yaml``), nor what is no file at all.
        """
        return sorted(
            path
            for pattern in ("*.yaml", "*.yml")
            for path in self.jobs_folder.rglob(pattern)
            if path.name != DEFAULTS_FILE and path.is_file() and not self._is_hidden(path)
        )

    def _is_hidden(self, path: Path) -> bool:
        return any(part.startswith(".") for part in path.relative_to(self.jobs_folder).parts)

    def defaults_files(self, job_file: Path) -> Iterator[Path]:
        """The ``defaults.yaml`` that apply to a job file, outermost first."""
        folder = job_file.absolute().parent
        chain = [folder, *folder.parents]
        inside = self.jobs_folder in chain
        chain = chain[: chain.index(self.jobs_folder) + 1] if inside else [folder]
        for candidate in reversed(chain):
            if (candidate / DEFAULTS_FILE).is_file():
                yield candidate / DEFAULTS_FILE
