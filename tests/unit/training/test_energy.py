"""Energy counters: a made-up sysfs, and a made-up NVML at the edge."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from seedance_ops.training.metrics.energy import NotMeasured, NvmlCounter, RaplCounter, energy_counter

RANGE_UJ = 262_143_328_850  # what Intel's processors show


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def zone(root: Path, number: str, name: str, energy_uj: int, range_uj: int = RANGE_UJ) -> Path:
    folder = root / f"intel-rapl:{number}"
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    return folder / "energy_uj"


def test_all_packages_are_summed_and_no_part_of_one_is_counted_twice(tmp_path: Path) -> None:
    first = zone(tmp_path, "0", "package-0", 1_000_000)
    second = zone(tmp_path, "1", "package-1", 5_000_000)
    core, platform = zone(tmp_path, "0:0", "core", 0), zone(tmp_path, "2", "psys", 0)
    counter = RaplCounter.open(tmp_path)
    assert counter is not None
    assert counter.joules() == 0.0
    for file, energy_uj in ((first, 4_000_000), (second, 5_500_000), (core, 10**9), (platform, 10**9)):
        file.write_text(str(energy_uj))
    assert counter.joules() == pytest.approx(3.5)
    assert counter.joules() == pytest.approx(3.5), "a total, not a difference"


def test_a_counter_that_starts_again_goes_on(tmp_path: Path) -> None:
    file = zone(tmp_path, "0", "package-0", RANGE_UJ - 2_000_000)
    counter = RaplCounter.open(tmp_path)
    assert counter is not None
    file.write_text("3000000")
    assert counter.joules() == pytest.approx(5.0)
    file.write_text("4000000")
    assert counter.joules() == pytest.approx(6.0)


def test_a_counter_that_may_have_gone_round_twice_tells_nothing_any_more(tmp_path: Path) -> None:
    clock = Clock()
    zone(tmp_path, "0", "package-0", 0, range_uj=65_000_000_000)  # 65 kJ: 65 s at 1 kW
    counter = RaplCounter.open(tmp_path, clock)
    assert counter is not None
    clock.now_s = 64.0
    assert counter.joules() == 0.0
    clock.now_s += 66.0
    assert counter.joules() is None
    assert counter.joules() is None


@pytest.mark.parametrize("missing", ["energy_uj", "name", "max_energy_range_uj"])
def test_counters_that_cannot_be_read_are_none(tmp_path: Path, missing: str) -> None:
    """Since Linux 5.10 only root reads ``energy_uj``; a folder stands for it, since tests may run as root."""
    file = zone(tmp_path, "0", "package-0", 0).with_name(missing)
    file.unlink()
    file.mkdir()
    assert RaplCounter.open(tmp_path) is None


def test_a_machine_without_counters_has_none(tmp_path: Path) -> None:
    assert RaplCounter.open(tmp_path / "nothing") is None


def test_a_counter_that_goes_away_is_lost(tmp_path: Path) -> None:
    file = zone(tmp_path, "0", "package-0", 0)
    counter = RaplCounter.open(tmp_path)
    assert counter is not None
    file.unlink()
    assert counter.joules() is None


class RefusedError(Exception):
    """Stands in for pynvml's error."""


class Nvml(SimpleNamespace):
    """One GPU as ``pynvml`` shows it."""

    NVMLError = RefusedError

    def __init__(self, uuid: str, energy_mj: int | None) -> None:
        super().__init__(uuid=uuid, energy_mj=energy_mj)

    def nvmlInit(self) -> None:
        if self.uuid == "no driver":
            raise RefusedError

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid != f"GPU-{self.uuid}":
            raise RefusedError
        return "handle"

    def nvmlDeviceGetTotalEnergyConsumption(self, device: str) -> int:
        assert device == "handle"
        if self.energy_mj is None:
            raise RefusedError
        return self.energy_mj


def test_a_gpus_energy_counts_from_when_it_was_opened() -> None:
    nvml = Nvml("a-b", 7_000_000)
    counter = NvmlCounter.open("a-b", nvml)
    assert counter is not None
    nvml.energy_mj = 7_250_500
    assert counter.joules() == pytest.approx(250.5)
    nvml.energy_mj = 10
    assert counter.joules() is None, "the driver was loaded again"
    nvml.energy_mj = None
    assert counter.joules() is None


@pytest.mark.parametrize("nvml", [Nvml("no driver", 1), Nvml("another GPU", 1), Nvml("a-b", None)])
def test_a_gpu_that_does_not_tell_has_no_counter(nvml: Nvml) -> None:
    assert NvmlCounter.open("a-b", nvml) is None


def test_one_rank_of_a_node_measures_its_processors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(RaplCounter, "open", lambda: None)
    assert isinstance(energy_counter(cpu, 0), NotMeasured)
    assert energy_counter(cpu, 1) is None
