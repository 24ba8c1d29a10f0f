"""The stamp of a run: which code, packages and hardware produced its numbers (R2.2)."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from seedance_ops.jobs.manifest import RunManifest

_PACKAGES = (
    "seedance-ops",
    "apache-airflow",
    "torch",
    "numpy",
    "pandas",
    "scipy",
    "great-expectations",
    "boto3",
)
COMMIT_VARIABLE = "SEEDANCE_GIT_COMMIT"
_TOOL_TIMEOUT_S = 20


def stamp_of(manifest: RunManifest, project: Path) -> dict[str, str]:
    """Everything somebody needs in order to tell two runs' circumstances apart; no secrets, no host paths."""
    commit, dirty = _git_state(project)
    return {
        "job": manifest.job.metadata.name,
        "job_hash": manifest.job_hash,
        "run_id": manifest.run_id,
        "git_commit": commit,
        "git_dirty": dirty,
        "cluster_id": cluster_id(commit, dirty),
        "python": platform.python_version(),
        **{f"version_{name.replace('-', '_')}": _version(name) for name in _PACKAGES},
        "host": platform.node(),
        "kernel": platform.release(),
        "cpu": _cpu_model(),
        "cpu_count": str(os.cpu_count() or 0),
        "memory_gib": f"{psutil.virtual_memory().total / 2**30:.1f}",
        "accelerators": "; ".join(accelerators()) or "none",
        **{f"label_{key}": value for key, value in manifest.job.metadata.labels.items()},
    }


def cluster_id(commit: str, dirty: str) -> str:
    """A label fit for Kubernetes, derived from the commit that declares the cluster (R2.2)."""
    return f"cluster-{commit[:12]}" + ("-dirty" if dirty == "yes" else "")


def accelerators() -> list[str]:
    """The machine's GPUs by name, as their vendor's tool tells; empty without one."""
    if not shutil.which("nvidia-smi"):
        return []
    listing = _output(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], Path.cwd())
    return listing.splitlines() if listing else []


def _git_state(project: Path) -> tuple[str, str]:
    commit = _output(["git", "rev-parse", "HEAD"], project)
    if commit is None:  # an image has no .git: its build says which commit it was made from
        return os.environ.get(COMMIT_VARIABLE) or "unversioned", "unknown"
    changes = _output(["git", "status", "--porcelain", "--untracked-files=normal"], project)
    return commit, "unknown" if changes is None else "yes" if changes else "no"


def _output(command: list[str], folder: Path) -> str | None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_TOOL_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )
