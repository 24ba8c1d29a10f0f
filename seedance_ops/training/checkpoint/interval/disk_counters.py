"""Reads what the kernel counts of the disk below a folder, and what some processes wrote themselves."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

_SECTOR_BYTES = 512
"""Of ``/proc/diskstats``, whatever the disk's own are (kernel: Documentation/admin-guide/iostats.rst)."""


@dataclass(frozen=True)
class Counters:
    """At one moment; each only ever grows. ``None`` where the kernel does not tell."""

    at_s: float
    """Of a clock that nobody sets."""
    busy_s: float | None
    """Time in which the disk had work (``io_ticks``)."""
    moved_bytes: int | None
    """Read and written by all."""
    own_bytes: int
    """Written by this job's processes."""
    pressure_s: float | None
    """Time in which some task waited for input or output (PSI)."""


class DiskCounters(Protocol):
    """Where counters come from: the kernel, or a test's recording."""

    def read(self) -> Counters:
        """The counters now."""

    def unknown(self) -> str | None:
        """Why the disk's own are not known, if they are not."""


@dataclass
class KernelCounters:
    """Of the whole disk that holds a folder: contention on its other partitions counts too.

    Args:
        folder: Need not exist yet.
        pids: The node's ranks.
        proc: Where procfs is mounted.
        sys: Where sysfs is mounted.
        clock: A monotonic one, in seconds.
    """

    folder: Path
    pids: Sequence[int]
    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    clock: Callable[[], float] = time.monotonic
    _disk: str | None = field(init=False)

    def __post_init__(self) -> None:
        self._disk = self._find_disk()

    def read(self) -> Counters:
        """Files that are not there or cannot be read are unknown, not an error."""
        busy_s, moved_bytes = self._of_disk()
        return Counters(self.clock(), busy_s, moved_bytes, self._own_bytes(), self._pressure_s())

    def unknown(self) -> str | None:
        """Network and memory file systems, and most overlays, have no disk of their own."""
        if self._disk is None:
            return f"no disk of this machine holds {self.folder}"
        if self._of_disk()[0] is None:
            return f"{self.proc}/diskstats has no device {self._disk}"
        return None

    def _find_disk(self) -> str | None:
        folder = self.folder
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        device = folder.stat().st_dev
        if os.major(device) == 0:  # btrfs, say: the mount names the disk
            device = self._mounted_device(_name(device))
        if os.major(device) == 0:
            return None
        place = self.sys / "dev" / "block" / _name(device)
        if (place / "partition").exists():
            return _text(place.resolve().parent / "dev") or _name(device)
        return _name(device)

    def _mounted_device(self, name: str) -> int:
        for line in _text(self.proc / "self" / "mountinfo").splitlines():
            mount, _, source = line.partition(" - ")
            if mount.split()[2] == name and len(words := source.split()) > 1 and words[1].startswith("/dev/"):
                try:
                    return Path(words[1]).stat().st_rdev
                except OSError:
                    continue
        return 0

    def _of_disk(self) -> tuple[float | None, int | None]:
        for line in _text(self.proc / "diskstats").splitlines():
            words = line.split()
            if len(words) > 12 and f"{words[0]}:{words[1]}" == self._disk:
                return int(words[12]) / 1000.0, (int(words[5]) + int(words[9])) * _SECTOR_BYTES
        return None, None

    def _own_bytes(self) -> int:
        texts = [_text(self.proc / str(pid) / "io") for pid in self.pids]
        lines = [line for text in texts for line in text.splitlines() if line.startswith("write_bytes:")]
        return sum(int(line.split()[1]) for line in lines)

    def _pressure_s(self) -> float | None:
        for line in _text(self.proc / "pressure" / "io").splitlines():
            if line.startswith("some ") and "total=" in line:
                return int(line.rpartition("total=")[2]) / 1e6
        return None


def _name(device: int) -> str:
    return f"{os.major(device)}:{os.minor(device)}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # also where PSI is compiled in and switched off
        return ""
