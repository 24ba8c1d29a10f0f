"""Why a job failed: from what its ranks said, else from exit codes and the end of its log."""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Mapping, Set

from seedance_ops.launchers.base import FailureKind
from seedance_ops.storage.errors import StorageError
from seedance_ops.training.errors import EXIT_STORAGE, EXIT_TERMINATED
from seedance_ops.training.failure import LastWord

LastWords = Mapping[int, LastWord]

_ERROR_LINE = re.compile(r"(Error|Exception|error)\b.*:")
_RANK_EXIT = re.compile(r"rank\s*:\s*(\d+)\s+\(local_rank: \d+\)\s*\n[^\n]*exitcode\s*:\s*(-?\d+)")
"""One entry of the failure table that torchrun prints last."""

_BAD_INPUT_CODES = {os.EX_CONFIG, os.EX_USAGE, 2, 126, 127}
"""EX_CONFIG from the session, argparse's 2, and the shell's "cannot be executed" and "not found"."""
_KILLED_CODES = {-signal.SIGKILL, 128 + signal.SIGKILL}

_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EIO}

_MEMORY_SIGN = re.compile(r"OutOfMemoryError|CUDA out of memory|MemoryError|Cannot allocate memory")
_STORAGE_SIGN = re.compile(r"StorageError|StoreUnreachable|EndpointConnectionError|No space left on device")
_COMMUNICATION_SIGN = re.compile(
    r"Dist(Backend|Network|Store)Error|NCCL error|ncclRemoteError|RendezvousConnectionError"
    r"|Connection closed by peer|Connection reset by peer|Timed out waiting \d+ms for (send|recv)"
)
_SPECIFIC_FIRST = (
    FailureKind.BAD_INPUT,
    FailureKind.OUT_OF_MEMORY,
    FailureKind.STORAGE,
    FailureKind.PROGRAM,
    FailureKind.COMMUNICATION,
)
"""Which of several ranks' failures explains the others: peers lose their connection to any that fails."""
_LONGEST_MESSAGE = 300


def exit_codes_by_rank(log_tail: str, exit_code: int, words: LastWords) -> dict[str, int]:
    """Exit code by rank, from torchrun's own table and the ranks' words; else the job's under ``"job"``."""
    codes = {rank: int(code) for rank, code in _RANK_EXIT.findall(log_tail)}
    codes |= {str(rank): word.exit_code for rank, word in words.items()}
    return codes or {"job": exit_code}


def classify(exit_codes: Mapping[str, int], log_tail: str, words: LastWords) -> FailureKind:
    """The kind of failure, for the retry decision.

    What a rank said of its own failure counts most, then an exit code that names its cause, then patterns in
    the log. A lost connection counts least: it follows from any other failure of a peer.
    """
    cause = first_cause(words)
    said = kind_of(words[cause]) if cause is not None else None
    if said is not None and said is not FailureKind.COMMUNICATION:
        return said
    codes = set(exit_codes.values())
    kind = _kind_by_code(codes) or _kind_by_sign(log_tail)
    if kind is None and codes & _KILLED_CODES:
        return FailureKind.NODE_LOST
    return kind or said or _kind_by_lost_connection(log_tail)


def describe(exit_codes: Mapping[str, int], log_tail: str, words: LastWords) -> str:
    """One line for people: the exit codes, and the message of the rank that failed first or of the log."""
    codes = ", ".join(
        f"rank {rank}: {code}" if rank.isdigit() else f"{rank}: {code}" for rank, code in exit_codes.items()
    )
    cause = first_cause(words)
    if cause is not None:
        told = f"rank {cause}: {words[cause].error}: {_one_line(words[cause].message)}"
        return f"exit code {codes}; {told.rstrip(': ')}"
    errors = [
        line
        for line in log_tail.splitlines()
        if _ERROR_LINE.search(line) and "ChildFailedError" not in line  # torchrun's echo of the real one
    ]
    return f"exit code {codes}" + (f"; {_one_line(errors[-1])}" if errors else "")


def first_cause(words: LastWords) -> int | None:
    """The rank whose failure explains the others'; none where all were only told to end."""
    failed = {rank: kind_of(word) for rank, word in words.items() if word.exit_code != EXIT_TERMINATED}
    return min(failed, key=lambda rank: (_SPECIFIC_FIRST.index(failed[rank]), rank), default=None)


def kind_of(word: LastWord) -> FailureKind:
    """The kind of failure that one rank reports of itself."""
    text = f"{word.error}: {word.message}"
    return _kind_by_code({word.exit_code}) or _kind_by_sign(text) or _kind_by_lost_connection(text)


def kind_of_refusal(error: Exception) -> FailureKind:
    """The kind of what kept a launcher from starting a job, or from bringing in its results."""
    full_or_broken = isinstance(error, OSError) and error.errno in _DISK_ERRORS
    return FailureKind.STORAGE if full_or_broken or isinstance(error, StorageError) else FailureKind.BAD_INPUT


def _kind_by_code(codes: Set[int]) -> FailureKind | None:
    if codes & _BAD_INPUT_CODES:
        return FailureKind.BAD_INPUT
    return FailureKind.STORAGE if EXIT_STORAGE in codes else None


def _kind_by_lost_connection(text: str) -> FailureKind:
    return FailureKind.COMMUNICATION if _COMMUNICATION_SIGN.search(text) else FailureKind.PROGRAM


def _kind_by_sign(text: str) -> FailureKind | None:
    if _MEMORY_SIGN.search(text):
        return FailureKind.OUT_OF_MEMORY
    return FailureKind.STORAGE if _STORAGE_SIGN.search(text) else None


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_MESSAGE]
