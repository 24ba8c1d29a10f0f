"""What a ``runtime: none`` job reported reaches the store, also one that is away when the job ends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seedance_ops.launchers.base import FailureKind, LaunchSpec, LaunchState, LaunchStatus
from seedance_ops.launchers.local import LocalLauncher
from seedance_ops.launchers.processes import processes_of
from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.server import EmbeddedStore, StoreRecord
from seedance_ops.training.config import BatchConfig, StopCondition
from seedance_ops.training.plan import LaunchPlan

REPORT = (
    """echo '{"name": "loss", "value": 1.5}' > "$SEEDANCE_METRICS_FILE"; touch "$SEEDANCE_WORKSPACE/done" """
)
KEY = "evaluations/submission-001/metrics.jsonl"


@pytest.fixture
def launches(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "launches"
    yield root
    for folder in root.glob("*"):
        for process in processes_of(folder.name):
            process.kill()


def spec(storage: StorageLocation) -> LaunchSpec:
    return LaunchSpec(
        name=f"reporting-{os.getpid()}",
        command=("bash", "-c", REPORT),
        launch="none",
        runtime="none",
        processes_per_node=1,
        plan=LaunchPlan(
            job="job",
            job_hash="0" * 64,
            run_id="run",
            variant="baseline",
            seed=0,
            submission=1,
            batch=BatchConfig(per_rank=1),
            stop=StopCondition(steps=1),
            storage=storage,
        ),
    )


def end_of(launcher: LocalLauncher, submitted: LaunchSpec, within_s: float) -> LaunchStatus:
    handle = launcher.submit(submitted)
    deadline = time.monotonic() + within_s
    while not (status := launcher.status(handle)).state.terminal and time.monotonic() < deadline:
        time.sleep(0.05)
    return status


def test_results_wait_for_a_store_that_is_away_at_the_end_of_the_job(
    launches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedStore(tmp_path / "store")
    record = server.up()
    try:
        for name, value in record.environment().items():
            monkeypatch.setenv(name, value)
        location = StorageLocation(uri="s3://results/run", endpoint_url=record.endpoint_url)
        ObjectStore(location).ensure_bucket()
        kill(record)
        launcher = LocalLauncher(launches)
        status = end_of(launcher, spec(location), within_s=4.0)
        assert (launcher.workspace(spec(location).name).folder / "done").exists()
        assert status.state is LaunchState.RUNNING
        server.up()
        status = end_of(launcher, spec(location), within_s=60.0)
        assert (status.state, status.reason) == (LaunchState.SUCCEEDED, None)
        assert b'"loss"' in ObjectStore(location).get(KEY)
    finally:
        server.down()


def test_a_store_that_refuses_is_a_failure_of_storage_and_not_a_lost_job(
    launches: Path, location: StorageLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    status = end_of(LocalLauncher(launches), spec(location), within_s=60.0)
    assert (status.state, status.failure) == (LaunchState.FAILED, FailureKind.STORAGE)
    assert "refused (SignatureDoesNotMatch)" in str(status.reason)


def test_a_job_that_is_cancelled_while_its_results_wait_has_been_cancelled(
    launches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    away = StorageLocation(uri="s3://results/run", endpoint_url="http://127.0.0.1:1")
    launcher = LocalLauncher(launches)
    handle = launcher.submit(spec(away))
    while not (launcher.workspace(handle.name).folder / "done").exists():
        time.sleep(0.05)
    launcher.cancel(handle)
    status = launcher.status(handle)
    assert (status.state, status.exit_codes) == (LaunchState.CANCELLED, {"job": 0})


def kill(record: StoreRecord) -> None:
    process = record.process()
    assert process is not None
    process.kill()
    process.wait(10)
