"""A process is found again by its pid and start, and no other is taken for it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from seedance_ops.process_identity import ProcessIdentity, start_ticks_in

_BEHIND_NAME = "S 1 7 7 0 -1 4194304 90 0 0 0 3 2 0 0 20 0 1 0 4711 2854912 192 18446744073709551615"
"""Fields 3 to 25 of ``/proc/7/stat`` in the order of proc(5): the 22nd is 4711."""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    "name", ["bash", "tmux: server", "(sd-pam)", "a) S 1 2 3 4 5 6 7 8 9 (b", ") ) )", "", "\ufffd\n) R 0"]
)
def test_a_hostile_name_does_not_shift_the_fields(name: str) -> None:
    assert start_ticks_in(f"7 ({name}) {_BEHIND_NAME}\n") == 4711


def test_a_living_process_with_a_hostile_name_is_found(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    shutil.copy(shutil.which("sleep") or "", program)
    process = subprocess.Popen([program, "600"])
    try:
        identity = ProcessIdentity.of(process.pid)
        since_boot_s = identity.start_ticks / os.sysconf("SC_CLK_TCK")
        assert abs(since_boot_s - time.clock_gettime(time.CLOCK_BOOTTIME)) < 60
        assert identity.is_alive
    finally:
        process.kill()
        process.wait()


def test_this_process_is_alive_also_after_a_round_trip_through_json() -> None:
    me = ProcessIdentity.current()
    found = ProcessIdentity.model_validate_json(me.model_dump_json()).process()
    assert found is not None
    assert found.pid == os.getpid()


def test_a_step_of_the_wall_clock_changes_nothing(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = ProcessIdentity.of(child.pid)
    for name in ("create_time", "_get_ident"):
        monkeypatch.setattr(psutil.Process, name, lambda self: 0.0, raising=False)
    assert identity.is_alive
    assert ProcessIdentity.of(child.pid) == identity


@pytest.mark.parametrize(
    "other", [{"start_ticks": 1}, {"boot_id": "earlier"}, {"host": "elsewhere"}, {"pid": 2**22}]
)
def test_another_start_boot_host_or_pid_is_another_process(
    child: subprocess.Popen[bytes], other: dict[str, object]
) -> None:
    assert not ProcessIdentity.of(child.pid).model_copy(update=other).is_alive


def test_an_ended_process_is_dead_also_while_nobody_has_waited_for_it() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    identity = ProcessIdentity.of(process.pid)
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie from here on
    assert not identity.is_alive
    process.wait()
    assert not identity.is_alive
    with pytest.raises(ProcessLookupError, match=str(process.pid)):
        ProcessIdentity.of(process.pid)
