"""Why a job failed, read from its exit codes and the end of its log."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping

from seedance_ops.launchers.base import FailureKind

_RANK_EXIT = re.compile(r"rank\s*:\s*(\d+)\s+\(local_rank: \d+\)\s*\n[^\n]*exitcode\s*:\s*(-?\d+)")
"""One entry of the failure table that torchrun prints last."""

_BAD_INPUT_CODES = {os.EX_CONFIG, os.EX_USAGE, 2, 126, 127}
"""EX_CONFIG from the session, argparse's 2, and the shell's "cannot be executed" and "not found"."""

_SIGNS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    (
        FailureKind.OUT_OF_MEMORY,
        re.compile(r"OutOfMemoryError|CUDA out of memory|MemoryError|Cannot allocate memory"),
    ),
    (
        FailureKind.STORAGE,
        re.compile(r"StorageError|StoreUnreachable|EndpointConnectionError|No space left on device"),
    ),
    (
        FailureKind.COMMUNICATION,
        re.compile(
            r"DistBackendError|NCCL error|ncclRemoteError|Connection closed by peer|DistNetworkError"
            r"|RendezvousConnectionError|Connection reset by peer"
        ),
    ),
)


def rank_exit_codes(log_tail: str, exit_code: int) -> dict[str, int]:
    """Exit code by rank from torchrun's own table, or the job's under ``"job"`` where there is none."""
    codes = {rank: int(code) for rank, code in _RANK_EXIT.findall(log_tail)}
    return codes or {"job": exit_code}


def classify(exit_codes: Mapping[str, int], log_tail: str) -> FailureKind:
    """The kind of failure, for the retry decision.

    An exit code that names its cause counts more than a message, and the first rank that died more than
    those that noticed: a peer's "connection closed" follows from any other failure.
    """
    codes = set(exit_codes.values())
    if codes & _BAD_INPUT_CODES:
        return FailureKind.BAD_INPUT
    for kind, sign in _SIGNS:
        if sign.search(log_tail):
            return kind
    if codes & {-signal.SIGKILL, 128 + signal.SIGKILL}:
        return FailureKind.NODE_LOST
    return FailureKind.PROGRAM


def describe(exit_codes: Mapping[str, int], log_tail: str) -> str:
    """One line for people: the exit codes, and the last error line of the log."""
    codes = ", ".join(
        f"rank {rank}: {code}" if rank.isdigit() else f"{rank}: {code}" for rank, code in exit_codes.items()
    )
    errors = [
        line.strip() for line in log_tail.splitlines() if re.search(r"(Error|Exception|error)\b.*:", line)
    ]
    return f"exit code {codes}" + (f"; {errors[-1][:300]}" if errors else "")
