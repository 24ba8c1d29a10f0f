"""A supervisor stops what is its own, and two never share a home."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from seedance_ops.jobs.project import ProjectContext
from seedance_ops.orchestration.embedded.components import EmbeddedAirflow, EmbeddedAirflowError, running
from seedance_ops.orchestration.embedded.settings import environment, keys_of

HOLD = """
import fcntl, os, sys, time
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_supervisor_is_refused_and_stops_nothing_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEEDANCE_STORAGE_URI", raising=False)
    record = tmp_path / "embedded-airflow.json"
    record.write_text("{}", encoding="utf-8")
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / ".embedded-airflow.lock")], stdout=subprocess.PIPE
    )
    assert first.stdout is not None
    first.stdout.readline()
    second = EmbeddedAirflow(tmp_path, ProjectContext(tmp_path))
    try:
        with pytest.raises(EmbeddedAirflowError, match="another process"):
            second.start(lambda _: None)
        second.stop()
        assert record.exists()
    finally:
        first.kill()


def test_components_of_a_killed_supervisor_are_ended_and_its_record_is_not_believed(tmp_path: Path) -> None:
    orphan = subprocess.Popen(["sleep", "60"], env=os.environ | {"SEEDANCE_EMBEDDED_AIRFLOW": str(tmp_path)})
    stranger = subprocess.Popen(["sleep", "60"], env=os.environ | {"SEEDANCE_EMBEDDED_AIRFLOW": "/other"})
    (tmp_path / "embedded-airflow.json").write_text(
        '{"host": "h", "boot_id": "b", "pid": 1, "start_ticks": 1, "port": 1}', encoding="utf-8"
    )
    assert running(tmp_path) is None
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    taken = EmbeddedAirflow(tmp_path, ProjectContext(tmp_path), port=port)
    try:
        with listener, pytest.raises(EmbeddedAirflowError, match=f"port {port} is taken"):
            taken.start(lambda _: None)
        orphan.wait(10)
        assert stranger.poll() is None
    finally:
        orphan.kill()
        stranger.kill()


def test_the_users_own_airflow_settings_do_not_leak_in_and_keys_stay(tmp_path: Path) -> None:
    inherited = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://prod", "PATH": "/bin"}
    made = environment(tmp_path, tmp_path, ("127.0.0.1", 8080), {}, inherited)
    assert made["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"].startswith("sqlite:///")
    assert made["PATH"] == "/bin"
    assert keys_of(tmp_path) == keys_of(tmp_path)
    assert (tmp_path / "embedded-keys.json").stat().st_mode & 0o077 == 0
