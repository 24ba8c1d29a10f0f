"""A real Airflow over a small project of the test's own, with the object store under it."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.launchers.record import LaunchRecord
from seedance_ops.launchers.running import RunningLaunch, running_launches
from seedance_ops.orchestration.client import AirflowClient, run_id_now
from seedance_ops.orchestration.embedded.components import EmbeddedAirflow
from seedance_ops.orchestration.embedded.settings import USER, bundle_folder, keys_of
from seedance_ops.orchestration.job_files import JobFiles
from seedance_ops.orchestration.launch_records import records_of
from seedance_ops.storage.config import StorageLocation

CHECKOUT = Path(__file__).resolve().parent.parent


class AirflowUnderTest:
    """Starts on construction; ``stop`` ends all of it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = ProjectContext(folder / "project")
        for part in ("include/catalog", "examples", "plugins", "dags"):
            shutil.copytree(CHECKOUT / part, self.project.root / part)
        self.project.jobs_folder.mkdir()
        self.embedded = EmbeddedAirflow(self.home, self.project)
        self.running = self.embedded.start(lambda _: None)
        self.client = AirflowClient(self.running.url, USER, keys_of(self.home).password)
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def stop(self) -> None:
        self._stopping.set()
        self._watcher.join(30)
        self.embedded.stop()

    def add_job(self, name: str, text: str) -> None:
        """Write a job, and wait until Airflow has it as written."""
        file = self.project.jobs_folder / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
        wanted = JobFiles(self.project, bundle_folder(self.home)).stub(file)
        until(lambda: self.client.source(name) == wanted, 240)
        self.client.pause(name, paused=False)

    def trigger(self, dag_id: str, conf: dict[str, Any] | None = None) -> str:
        """Start a run; returns its id."""
        run_id = run_id_now()
        self.client.trigger(dag_id, run_id, conf or {})
        return run_id

    def wait(self, dag_id: str, run_id: str, timeout_s: float = 600) -> str:
        """The run's final state."""
        until(lambda: self.client.run_state(dag_id, run_id) in ("success", "failed"), timeout_s)
        return self.client.run_state(dag_id, run_id)

    def launches(self, dag_id: str, run_id: str) -> list[RunningLaunch]:
        """The launches of the run that live at this moment."""
        return running_launches(self.home / "launches", dag_id, run_id)

    def run_store(self, dag_id: str, run_id: str) -> RunStore:
        assert self.embedded.store is not None
        record = self.embedded.store.read()
        assert record is not None
        os.environ.update(record.environment())
        location = StorageLocation(
            uri="s3://seedance/runs", endpoint_url=record.endpoint_url, region="us-east-1"
        )
        return RunStore(location, dag_id, run_id)

    def records(self, dag_id: str, run_id: str, variant: str, seed: int = 0) -> list[LaunchRecord]:
        return records_of(self.run_store(dag_id, run_id), variant, seed)

    def states(self, dag_id: str, run_id: str) -> dict[str, str]:
        """State by task, a mapped one as ``train[0]``."""
        return {
            task["task_id"] + (f"[{task['map_index']}]" if task["map_index"] >= 0 else ""): task["state"]
            for task in self.client.task_instances(dag_id, run_id)
        }

    def _watch(self) -> None:
        while not self._stopping.wait(0.5):
            self.embedded.watch()


def until(condition: Callable[[], Any], timeout_s: float = 240.0) -> Any:
    """Wait for a truthy answer, and return it."""
    deadline = time.monotonic() + timeout_s
    while not (answer := condition()):
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.1)
    return answer
