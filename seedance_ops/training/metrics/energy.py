"""Energy that this rank's GPU, or this node's processors, drew: read from the hardware's own counters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

POWERCAP = Path("/sys/class/powercap")
"""Where Linux shows RAPL, the energy counters of Intel's and AMD's processors."""
_MOST_W_PER_PACKAGE = 1000.0
"""No processor draws more: it bounds how soon a counter can have gone round twice."""
_UJ_PER_J = 1e6
_MJ_PER_J = 1e3


class EnergyCounter(Protocol):
    """A source of energy readings."""

    @property
    def method(self) -> str:
        """How the table names it."""

    def joules(self) -> float | None:
        """J since the counter was opened; ``None`` for good from the moment on that it cannot tell."""


class NotMeasured:
    """Stands where nothing tells the energy, so that a run of which a part is unmeasured has no sum."""

    method = "none"

    def joules(self) -> None:
        """Nothing is known."""


class NvmlCounter:
    """The total energy of one NVIDIA GPU (Volta and newer): the board, whoever uses it."""

    method = "nvml"

    def __init__(self, nvml: Any, device: Any, first_mj: int) -> None:
        self._nvml = nvml
        self._device = device
        self._first_mj = first_mj

    @classmethod
    def open(cls, uuid: str, nvml: Any = None) -> NvmlCounter | None:
        """The counter of a GPU; ``None`` without NVML, on a MIG slice, or where the GPU has none.

        Args:
            uuid: As CUDA knows the GPU: the index would change with ``CUDA_VISIBLE_DEVICES``.
            nvml: The module ``pynvml``, or what a test puts in its place.
        """
        if nvml is None:
            try:
                import pynvml
            except ModuleNotFoundError:
                return None
            nvml = pynvml
        try:
            nvml.nvmlInit()
            device = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
            return cls(nvml, device, nvml.nvmlDeviceGetTotalEnergyConsumption(device))
        except nvml.NVMLError:
            return None

    def joules(self) -> float | None:
        """J since the counter was opened."""
        try:
            now_mj = self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._device)
        except self._nvml.NVMLError:
            return None
        # The driver counts from when it was loaded; one that was loaded again has lost what was before.
        return float(now_mj - self._first_mj) / _MJ_PER_J if now_mj >= self._first_mj else None


@dataclass
class _Package:
    """One processor's counter, which starts again at 0 after ``range_uj``."""

    file: Path
    range_uj: int
    last_uj: int

    def advance_uj(self) -> int:
        """µJ since the last call; right if it went round once at most."""
        now_uj = int(self.file.read_text())
        passed_uj = now_uj - self.last_uj if now_uj >= self.last_uj else now_uj + self.range_uj - self.last_uj
        self.last_uj = now_uj
        return passed_uj


class RaplCounter:
    """All processor packages of this node, whoever uses them; read it at least every half minute."""

    method = "rapl"

    def __init__(self, packages: list[_Package], clock: Callable[[], float]) -> None:
        self._packages = packages
        self._clock = clock
        self._read_at_s = clock()
        self._surely_once_round_s = min(
            package.range_uj / _UJ_PER_J / _MOST_W_PER_PACKAGE for package in packages
        )
        self._total_uj: int | None = 0

    @classmethod
    def open(cls, root: Path = POWERCAP, clock: Callable[[], float] = time.monotonic) -> RaplCounter | None:
        """The counters below a folder; ``None`` where there are none, or only root may read them."""
        try:
            packages = list(_packages(root))
        except (OSError, ValueError):
            return None
        return cls(packages, clock) if packages else None

    def joules(self) -> float | None:
        """J since the counter was opened; lost once it was not read for as long as a counter may last."""
        now_s = self._clock()
        if now_s - self._read_at_s > self._surely_once_round_s:
            self._total_uj = None
        self._read_at_s = now_s
        if self._total_uj is None:
            return None
        try:
            self._total_uj += sum(package.advance_uj() for package in self._packages)
        except (OSError, ValueError):
            self._total_uj = None
            return None
        return self._total_uj / _UJ_PER_J


def energy_counter(device: torch.device, local_rank: int) -> EnergyCounter | None:
    """What this rank measures: its GPU, else as local rank 0 the node; ``None`` if another rank does."""
    if device.type == "cuda":
        return NvmlCounter.open(str(torch.cuda.get_device_properties(device).uuid)) or NotMeasured()
    return None if local_rank else RaplCounter.open() or NotMeasured()


def _packages(root: Path) -> Iterator[_Package]:
    """Each package once: its cores and memory are in its own figure, and so is it in the platform's."""
    for folder in sorted(root.glob("intel-rapl:*")):  # AMD's too
        if not (folder / "name").read_text().startswith("package"):
            continue
        range_uj = int((folder / "max_energy_range_uj").read_text())
        if range_uj > 0:
            file = folder / "energy_uj"
            yield _Package(file, range_uj, int(file.read_text()))
