"""Runs jobs to their end in a process that knows Airflow, and says how each task ended."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seedance_ops.jobs.project import ProjectContext
from seedance_ops.storage.server import StoreRecord

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PROJECT = ProjectContext(CHECKOUT)


def seeds_of(job: str) -> int:
    """Of a shrunk job: two for the demo, and one for the others, since what seeds are for one job shows."""
    return 2 if job == "char-gpt" else 1


def run_all(files: Iterable[Path], home: dict[str, str], store: StoreRecord) -> list[dict[str, Any]]:
    """Each file's run, in order: its ids, its state and those of its tasks."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.dags.run_shrunk", str(CHECKOUT), *map(str, files)],
        env=home | {"PYTHONPATH": str(CHECKOUT)},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert store.secret_key not in done.stdout + done.stderr
    return last_lines(done)


def last_lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"dag_id"')]
