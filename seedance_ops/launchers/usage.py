"""How much of the machine a job used, by sampling its processes."""

from __future__ import annotations

import os
import time

import psutil


class UsageSampler:
    """CPU share and peak memory of this process's descendants, from now on."""

    def __init__(self) -> None:
        self._cpu_s: dict[int, float] = {}
        self._began_s = time.monotonic()
        self.peak_memory_bytes = 0

    def sample(self) -> None:
        """Look at every descendant once."""
        memory = 0
        for process in psutil.Process().children(recursive=True):
            try:
                times = process.cpu_times()
                memory += process.memory_info().rss
            except psutil.Error:
                continue
            self._cpu_s[process.pid] = times.user + times.system
        self.peak_memory_bytes = max(self.peak_memory_bytes, memory)

    def mean_cpu_utilisation(self) -> float:
        """Share of the machine's cores that were kept busy, 0 … 1."""
        available_s = (time.monotonic() - self._began_s) * (os.cpu_count() or 1)
        return min(1.0, sum(self._cpu_s.values()) / max(available_s, 1e-9))
