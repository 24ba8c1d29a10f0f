"""The object store dies in the middle of a run and comes back: the run waits, and loses nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.server import EmbeddedStore
from seedance_ops.training.metrics.reading import read_steps
from tests.small_plan import small_plan


def test_a_run_outlives_an_outage_of_its_store(
    start_ranks: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedStore(tmp_path / "store")
    record = server.up()
    try:
        for name, value in record.environment().items():
            monkeypatch.setenv(name, value)
        store = ObjectStore(StorageLocation(uri="s3://outage/run", endpoint_url=record.endpoint_url))
        store.ensure_bucket()
        progress = tmp_path / "progress.json"
        ranks = start_ranks("tiny.py", 2, tmp_path / "log", variables(tmp_path, store, progress))
        wait_for_step(progress, 3)
        process = record.process()
        assert process is not None
        process.kill()
        wait_for_step(progress, 5)
        time.sleep(2.0)  # the checkpoint of step 5 is now waiting
        server.up()
        for rank in ranks:
            rank.join(90)
        print((tmp_path / "log").read_text())
        assert [rank.exitcode for rank in ranks] == [0, 0]
        assert read_steps(store, "cost").column("step").to_pylist() == 2 * list(range(1, 13))
    finally:
        server.down()


def variables(folder: Path, store: ObjectStore, progress: Path) -> dict[str, str]:
    plan = small_plan(stop={"steps": 12}, checkpoint={"interval_steps": 5}, storage=store.location)
    plan.write(folder / "plan.json")
    return {
        "SEEDANCE_PLAN": str(folder / "plan.json"),
        "SEEDANCE_WORKSPACE": str(folder / "workspace"),
        "SEEDANCE_PROGRESS_FILE": str(progress),
        "PAUSE_S": "0.6",
    }


def wait_for_step(progress: Path, step: int) -> None:
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        if progress.exists() and json.loads(progress.read_text())["step"] >= step:
            return
        time.sleep(0.05)
    raise AssertionError(f"step {step} was not reached")
