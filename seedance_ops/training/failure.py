"""Says why a process of the job ends: an exit code, and a file, since torchrun itself exits with 1."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

from seedance_ops.storage.errors import AccessDenied, BucketMissing, StorageError
from seedance_ops.strict_model import StrictModel
from seedance_ops.training.errors import (
    EXIT_BAD_INPUT,
    EXIT_STORAGE,
    CheckpointError,
    ConfigurationError,
    Superseded,
    TrainingError,
)
from seedance_ops.whole_file import write_whole

LAST_WORD_FILES = "failure-rank-*.json"
"""Where ``LastWord`` stands in the workspace, by rank of four digits."""
_EXIT_FAILURE = 1
_BAD_INPUT = (ConfigurationError, CheckpointError, Superseded, AccessDenied, BucketMissing)


class LastWord(StrictModel):
    """``failure-rank-0000.json``: why one rank ended, in its own words."""

    exit_code: int
    error: str
    """Name of the exception's class."""
    message: str


def exit_code_of(error: BaseException) -> int:
    """The code by which a launcher decides whether a retry can help."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, _BAD_INPUT):
        return EXIT_BAD_INPUT
    if isinstance(error, StorageError):
        return EXIT_STORAGE
    return _EXIT_FAILURE


def leave_word(error: BaseException, workspace: Path | None, rank: int) -> None:
    """Write a ``LastWord`` into the workspace, for the launcher to read when the job has ended."""
    if workspace is None:
        return
    word = LastWord(exit_code=exit_code_of(error), error=type(error).__name__, message=str(error))
    workspace.mkdir(parents=True, exist_ok=True)
    write_whole(workspace / LAST_WORD_FILES.replace("*", f"{rank:04d}"), word.model_dump_json())


def end(error: BaseException) -> NoReturn:
    """Leave the process: an expected error with its message alone, any other with its traceback."""
    if isinstance(error, TrainingError | StorageError):
        print(f"seedance: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        raise SystemExit(exit_code_of(error)) from error
    raise error
