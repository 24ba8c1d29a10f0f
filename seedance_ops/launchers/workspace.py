"""The folder of one launched job: which files stand in it, and how they are written.

Launcher and wrapper are different processes that may each die at any moment; they agree only through these
files, each written whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from seedance_ops.launchers.base import FailureKind, LaunchState
from seedance_ops.process_identity import ProcessIdentity
from seedance_ops.strict_model import StrictModel
from seedance_ops.training.failure import LAST_WORD_FILES, LastWord

Model = TypeVar("Model", bound=StrictModel)


class Started(ProcessIdentity):
    """``started.json``: which process is the job, and since when. Created by the wrapper, once."""

    started_at_s: float


class Ended(StrictModel):
    """``exit.json``: how the job ended. Written by the wrapper as its last act."""

    state: LaunchState
    reason: str | None = None
    failure: FailureKind | None = None
    exit_codes: dict[str, int] = {}
    ended_at_s: float = 0.0
    """Unix time: the start, plus the time that has elapsed since."""
    mean_cpu_utilisation: float | None = None
    peak_memory_bytes: int | None = None


class Progress(StrictModel):
    """``progress.json``: how far the job is. Written by the job's first rank."""

    step: int
    total_steps: int | None = None
    samples: int | None = None
    at_s: float
    phase: str | None = None


@dataclass(frozen=True)
class Workspace:
    """Paths below one job's folder, and the readers of what stands there."""

    folder: Path

    @property
    def spec(self) -> Path:
        """The ``LaunchSpec``."""
        return self.folder / "spec.json"

    @property
    def plan(self) -> Path:
        """The ``LaunchPlan`` that the job reads."""
        return self.folder / "plan.json"

    @property
    def code(self) -> Path:
        """The unpacked code, this job's own copy."""
        return self.folder / "code"

    @property
    def started_file(self) -> Path:
        """See ``Started``."""
        return self.folder / "started.json"

    @property
    def ended_file(self) -> Path:
        """See ``Ended``."""
        return self.folder / "exit.json"

    @property
    def progress_file(self) -> Path:
        """See ``Progress``."""
        return self.folder / "progress.json"

    @property
    def metrics_file(self) -> Path:
        """JSON lines that a ``runtime: none`` job reports its quality in."""
        return self.folder / "metrics.jsonl"

    @property
    def log(self) -> Path:
        """The job's output, each line with its rank."""
        return self.folder / "job.log"

    @property
    def submit_lock(self) -> Path:
        """Held while a job is being submitted."""
        return self.folder / ".submit.lock"

    def submitted_at_s(self) -> float | None:
        """When the spec was written (Unix time); the start of the queue time."""
        try:
            return self.spec.stat().st_mtime
        except FileNotFoundError:
            return None

    def started(self) -> Started | None:
        """The running or ended job's process, or None before it started."""
        return _read(self.started_file, Started)

    def ended(self) -> Ended | None:
        """How the job ended, or None while it has not."""
        return _read(self.ended_file, Ended)

    def last_words(self) -> dict[int, LastWord]:
        """What the ranks that failed said of it, by rank; those that were killed say nothing."""
        found: dict[int, LastWord] = {}
        for path in sorted(self.folder.glob(LAST_WORD_FILES)):
            rank = path.stem.rpartition("-")[2]
            word = _read(path, LastWord)
            if word is not None and rank.isdecimal():
                found[int(rank)] = word
        return found

    def progress(self) -> Progress | None:
        """The last progress, or None where the job reports none."""
        return _read(self.progress_file, Progress)

    def last_sign_of_life_s(self) -> float | None:
        """When the job last did something that left a trace (Unix time), or None before it started.

        The end that a job is billed to where nobody wrote it: looking later must not make it dearer.
        """
        started, progress = self.started(), self.progress()
        if started is None:
            return None
        signs = [started.started_at_s]
        if progress:
            signs.append(progress.at_s)
        with contextlib.suppress(FileNotFoundError):
            signs.append(self.log.stat().st_mtime)
        return max(signs)


def _read(path: Path, model: type[Model]) -> Model | None:
    """A model from a file; None where there is none, or where a foreign writer left something else."""
    try:
        return model.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, UnicodeDecodeError, json.JSONDecodeError, ValidationError):
        return None
