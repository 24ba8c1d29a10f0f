"""Finding and ending every process of a launched job, whoever its parent is by now."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
from pathlib import Path

import psutil

LAUNCH_VARIABLE = "SEEDANCE_LAUNCH"
"""Marks each process of a job with the job's name: parents die, sessions change, the environment stays."""

_PR_SET_CHILD_SUBREAPER = 36


def host_identity() -> tuple[str, str]:
    """This host's name and the id of its present boot."""
    return socket.gethostname(), Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()


def become_subreaper() -> None:
    """Have orphaned grandchildren handed to this process instead of to init."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def alive(pid: int, started_at_s: float) -> psutil.Process | None:
    """The process, unless it is gone, a zombie, or its pid belongs to another one by now."""
    try:
        process = psutil.Process(pid)
        if abs(process.create_time() - started_at_s) > 1.0 or process.status() == psutil.STATUS_ZOMBIE:
            return None
    except psutil.NoSuchProcess:
        return None
    return process


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
