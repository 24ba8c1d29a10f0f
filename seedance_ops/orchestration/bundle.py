"""YAML jobs as a versioned DAG bundle: one stub per file, immutable versions, one bad file hurts no other."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

from airflow.dag_processing.bundles.base import BaseDagBundle, BundleVersion

from seedance_ops.jobs.project import ProjectContext
from seedance_ops.orchestration.job_files import JobFiles
from seedance_ops.whole_file import write_whole


class JobBundle(BaseDagBundle):
    """Every ``include/jobs/**/*.yaml`` of a project as a DAG.

    An edit makes a new version, and runs that are under way keep the old one. ``current`` is what the DAG
    processor parses; ``versions/<hash>`` is what tasks run, written once and never changed.

    Args:
        project: The project's root.
    """

    supports_versioning = True

    def __init__(self, *, project: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._files = JobFiles(ProjectContext(Path(project)), self.base_dir)
        self._current = self.base_dir / "current"

    @property
    def path(self) -> Path:
        """The folder of stubs; known before ``initialize``."""
        return self.versions_dir / self.version if self.version else self._current

    def initialize(self) -> None:
        """Make sure that the stubs are there."""
        if not self.version:
            self.refresh()
        elif not self.path.exists():
            raise FileNotFoundError(
                f"version {self.version} of bundle {self.name} is not on this machine ({self.path}); share "
                "[dag_processor] dag_bundle_storage_path between the scheduler's and the workers' machines"
            )
        super().initialize()

    def get_current_version(self) -> BundleVersion:
        """A hash of every stub, which holds the YAML and its defaults."""
        return BundleVersion(version=self.version or _version_of(self._on_disk()))

    def refresh(self) -> None:
        """Bring ``current`` in step with the YAML files, and keep its version."""
        with self.lock():
            stubs = self._files.stubs()
            self._keep(stubs)
            self._current.mkdir(parents=True, exist_ok=True)
            for path in self._current.glob("*.py"):
                if path.name not in stubs:
                    path.unlink()
            for name, stub in stubs.items():
                path = self._current / name
                if not path.exists() or path.read_text(encoding="utf-8") != stub:
                    write_whole(path, stub)

    def _on_disk(self) -> dict[str, str]:
        return {path.name: path.read_text(encoding="utf-8") for path in self._current.glob("*.py")}

    def _keep(self, stubs: dict[str, str]) -> None:
        target = self.versions_dir / _version_of(stubs)
        if target.exists():
            return
        draft = self.versions_dir / f".draft-{os.getpid()}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name, stub in stubs.items():
            (draft / name).write_text(stub, encoding="utf-8")
        draft.rename(target)


def _version_of(stubs: dict[str, str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(stubs):
        digest.update(f"{name}\0{stubs[name]}\0".encode())
    return digest.hexdigest()[:40]
