"""How busy this process and its device are: CPU share, GPU utilisation, memory."""

from __future__ import annotations

import os
import time

import psutil
import torch

_GPU_PROBE_INTERVAL_S = 0.5


class UtilisationProbe:
    """Answers for the time since the last question."""

    def __init__(self, device: torch.device, local_world_size: int) -> None:
        self._process = psutil.Process()
        self._device = device
        # The ranks of a node share its cores evenly; torchrun pins nothing.
        self._cores = max(1.0, len(os.sched_getaffinity(0)) / local_world_size)
        self._last_cpu_s = self._cpu_s()
        self._last_at_s = time.perf_counter()
        self._gpu_known = device.type == "cuda"
        self._gpu_utilisation: float | None = None
        self._gpu_probed_at_s = 0.0

    def cpu_utilisation(self) -> float:
        """CPU time of this process since the last call, as a share of its cores, 0 to 1."""
        cpu_s, at_s = self._cpu_s(), time.perf_counter()
        used, passed = cpu_s - self._last_cpu_s, at_s - self._last_at_s
        self._last_cpu_s, self._last_at_s = cpu_s, at_s
        return min(1.0, used / (passed * self._cores)) if passed > 0 else 0.0

    def gpu_utilisation(self) -> float | None:
        """The driver's figure, 0 to 1, asked at most twice a second; ``None`` where there is none."""
        now = time.perf_counter()
        if self._gpu_known and now - self._gpu_probed_at_s >= _GPU_PROBE_INTERVAL_S:
            self._gpu_probed_at_s = now
            try:
                self._gpu_utilisation = torch.cuda.utilization(self._device) / 100.0
            except (ModuleNotFoundError, RuntimeError):  # no NVML bindings, or a driver that refuses
                self._gpu_known = False
        return self._gpu_utilisation

    def memory_bytes(self) -> int:
        """Peak allocation on the GPU, or the resident set on a CPU."""
        if self._device.type == "cuda":
            return int(torch.cuda.max_memory_allocated(self._device))
        return int(self._process.memory_info().rss)

    def _cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)
