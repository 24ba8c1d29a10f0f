"""Which process a record means: found again by any other process, never mistaken for a later one."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psutil

from seedance_ops.strict_model import StrictModel

_PROC = Path("/proc")
_TICKS_AFTER_NAME = 19
"""Field 22 of ``/proc/PID/stat``, ``starttime``, counted from the field behind the name (proc(5))."""


class ProcessIdentity(StrictModel):
    """A process by host, boot, pid and start.

    The start is counted in clock ticks since boot. A Unix time would move with every step of the wall clock,
    and a living process would be taken for a dead one.
    """

    host: str
    boot_id: str
    pid: int
    start_ticks: int

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """The process that has this pid now; raises ``ProcessLookupError`` where none has."""
        ticks = _start_ticks(pid)
        if ticks is None:
            raise ProcessLookupError(f"no process has pid {pid}")
        return ProcessIdentity(host=this_host(), boot_id=_this_boot(), pid=pid, start_ticks=ticks)

    @classmethod
    def current(cls) -> ProcessIdentity:
        """This very process."""
        return cls.of(os.getpid())

    def process(self) -> psutil.Process | None:
        """The process; none if it is gone, a zombie, or of another host or boot, or the pid is another's."""
        if (self.host, self.boot_id) != (this_host(), _this_boot()):
            return None
        try:
            process = psutil.Process(self.pid)
            if _start_ticks(self.pid) != self.start_ticks or process.status() == psutil.STATUS_ZOMBIE:
                return None
        except psutil.NoSuchProcess:
            return None
        return process

    @property
    def is_alive(self) -> bool:
        """Whether the process runs on this host."""
        return self.process() is not None


def this_host() -> str:
    """This host's name."""
    return socket.gethostname()


def start_ticks_in(stat: str) -> int:
    """The start in a text of ``/proc/PID/stat``; the name in it may hold spaces and parentheses."""
    return int(stat.rpartition(")")[2].split()[_TICKS_AFTER_NAME])


def _this_boot() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _start_ticks(pid: int) -> int | None:
    try:
        return start_ticks_in((_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace"))
    except (FileNotFoundError, ProcessLookupError):
        return None
