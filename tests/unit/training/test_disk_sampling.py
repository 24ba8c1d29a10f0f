"""How busy a disk is, from recordings of what the kernel counts."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from seedance_ops.training.checkpoint.direct_file import write_durably
from seedance_ops.training.checkpoint.interval.disk_counters import Counters, KernelCounters
from seedance_ops.training.checkpoint.interval.sampling import Sample, Sampler, sample

MIB = 1 << 20
START = Counters(at_s=10.0, busy_s=5.0, moved_bytes=100 * MIB, own_bytes=7 * MIB, pressure_s=1.0)


def later(
    seconds: float, busy_s: float | None, moved: int, own: int, pressure_s: float | None = None
) -> Counters:
    busy = None if busy_s is None else START.busy_s + busy_s
    pressure = None if pressure_s is None else START.pressure_s + pressure_s
    return Counters(10.0 + seconds, busy, START.moved_bytes + moved, START.own_bytes + own, pressure)


def test_a_disk_that_only_this_job_writes_to_is_not_busy_with_others() -> None:
    assert sample(START, later(1.0, 1.0, 80 * MIB, 80 * MIB)) == Sample(1.0, 0.0)


def test_the_time_is_divided_by_the_bytes() -> None:
    assert sample(START, later(2.0, 1.5, 100 * MIB, 25 * MIB)) == Sample(0.75, 0.5625)


def test_more_own_bytes_than_the_disk_has_seen_leave_others_nothing() -> None:
    """Buffered writes are counted when they are made, and reach the disk later."""
    assert sample(START, later(1.0, 0.5, 10 * MIB, 90 * MIB)) == Sample(0.5, 0.0)


def test_time_with_work_and_no_bytes_is_others() -> None:
    assert sample(START, later(1.0, 0.7, 0, 0)) == Sample(pytest.approx(0.7), pytest.approx(0.7))


def test_what_is_no_share_is_unknown() -> None:
    assert sample(START, later(0.0, 0.0, 0, 0)) == Sample(None, None)
    assert sample(START, later(1.0, -5.0, 0, 0)) == Sample(None, None)  # the counter began anew
    assert sample(START, later(1.0, 1.5, MIB, 0)).busy_share == 1.0


def test_pressure_stands_in_for_others_while_this_job_writes_nothing() -> None:
    assert sample(START, later(1.0, None, 0, 0, 0.4)) == Sample(None, pytest.approx(0.4))
    assert sample(START, later(1.0, None, 0, MIB, 0.4)) == Sample(None, None)
    assert sample(START, later(1.0, None, 0, 0)) == Sample(None, None)


class Recording:
    """One reading after the other; the last one for ever."""

    def __init__(self, *counters: Counters) -> None:
        self._left = list(counters)
        self.over = False

    def read(self) -> Counters:
        self.over = len(self._left) == 1
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]

    def unknown(self) -> str | None:
        return None


def test_the_newest_samples_are_told_oldest_first_and_end_at_an_unknown_one() -> None:
    at = [Counters(float(n), busy_s, 0, 0, None) for n, busy_s in enumerate([0.0, 0.5, None, 1.0, 1.25, 2.0])]
    recording = Recording(*at)
    sampler = Sampler(recording, period_s=0.01)
    sampler.start()
    while not recording.over:
        time.sleep(0.002)
    sampler.close()
    # 0.5, unknown, unknown, 0.25, 0.75; a repeated reading may follow, and is unknown
    assert sampler.busy_shares(3) in {(0.25, 0.75), (0.25,), ()}


def counters(tmp_path: Path, folder: Path, **files: str) -> KernelCounters:
    proc = tmp_path / "proc"
    for name, text in files.items():
        path = proc / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return KernelCounters(folder, [41, 42], proc=proc, sys=tmp_path / "sys", clock=lambda: 3.0)


def diskstats(folder: Path) -> str:
    device = folder.stat().st_dev
    return (
        "   7       0 loop0 0 0 0 0 0 0 0 0 0 9999 0\n"
        f" {os.major(device)}  {os.minor(device)} vda 1 2 3000 4 5 6 1000 8 0 2500 11 0 0 0 0 0 0\n"
    )


def test_the_kernels_files_are_read_as_it_documents_them(tmp_path: Path) -> None:
    """The layout is that of the kernel's Documentation/admin-guide/iostats.rst and accounting/psi.rst."""
    read = counters(
        tmp_path,
        tmp_path / "not" / "there" / "yet",
        diskstats=diskstats(tmp_path),
        pressure__io="some avg10=1.18 avg60=0.31 avg300=0.33 total=1500000\nfull avg10=0.00 total=7\n",
        **{"41__io": "rchar: 9\nwrite_bytes: 100\ncancelled_write_bytes: 5\n", "42__io": "write_bytes: 11\n"},
    )
    if os.major(tmp_path.stat().st_dev) == 0:
        pytest.skip("the test's folder is on no disk")
    assert read.unknown() is None
    assert read.read() == Counters(3.0, 2.5, (3000 + 1000) * 512, 111, 1.5)


def test_absent_files_are_unknown_and_no_error(tmp_path: Path) -> None:
    read = counters(tmp_path, tmp_path)
    assert read.read() == Counters(3.0, None, None, 0, None)
    assert read.unknown()


def test_memory_has_no_disk() -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("no /dev/shm")
    read = KernelCounters(Path("/dev/shm"), [os.getpid()])
    assert "/dev/shm" in str(read.unknown())


def test_a_partition_is_watched_as_its_whole_disk(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    if os.major(device) == 0:
        pytest.skip("the test's folder is on no disk")
    partition = tmp_path / "sys" / "devices" / "nvme0n1" / "nvme0n1p1"
    partition.mkdir(parents=True)
    (partition / "partition").write_text("1\n")
    (partition.parent / "dev").write_text("259:0\n")
    block = tmp_path / "sys" / "dev" / "block"
    block.mkdir(parents=True)
    (block / f"{os.major(device)}:{os.minor(device)}").symlink_to(partition)
    read = counters(tmp_path, tmp_path, diskstats=" 259 0 nvme0n1 1 2 2 4 5 6 2 8 0 4000 11\n")
    assert read.read().busy_s == 4.0


def test_this_process_own_writes_are_seen_as_its_own(tmp_path: Path) -> None:
    """On the machine's real disk, past the page cache."""
    read = KernelCounters(tmp_path, [os.getpid()])
    if read.unknown() or not Path("/proc/self/io").exists():
        pytest.skip("the kernel does not tell here")
    before = read.read()
    write_durably(tmp_path / "file", memoryview(bytes(32 * MIB)))
    assert read.read().own_bytes - before.own_bytes >= 32 * MIB
