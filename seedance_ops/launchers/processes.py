"""Finding and ending every process of a launched job, whoever its parent is by now."""

from __future__ import annotations

import contextlib
import ctypes
import signal

import psutil

LAUNCH_VARIABLE = "SEEDANCE_LAUNCH"
"""Marks each process of a job with the job's name: parents die, sessions change, the environment stays."""

_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Have orphaned grandchildren handed to this process instead of to init."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def processes_of(name: str) -> list[psutil.Process]:
    """All living processes of this user that carry the job's mark."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(LAUNCH_VARIABLE) == name and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_all(processes: list[psutil.Process], grace_s: float) -> None:
    """Ask the processes to end, and kill those that have not after ``grace_s`` seconds."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(sign)
        _, processes = psutil.wait_procs(processes, timeout=grace_s)
        if not processes:
            return
