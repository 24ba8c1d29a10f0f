"""Starts, watches and stops Airflow's processes and the object store under them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import httpx
import psutil

from seedance_ops.jobs.project import ProjectContext
from seedance_ops.launchers.factory import launches_folder
from seedance_ops.launchers.processes import end_all
from seedance_ops.launchers.running import cancel_all
from seedance_ops.loopback import free_port, is_free
from seedance_ops.orchestration.embedded.settings import environment
from seedance_ops.process_identity import ProcessIdentity
from seedance_ops.storage.server import EmbeddedStore
from seedance_ops.whole_file import write_whole

COMPONENTS = ("api-server", "scheduler", "dag-processor", "triggerer")
_MARK = "SEEDANCE_EMBEDDED_AIRFLOW"
_STOP_TIMEOUT_S = 15.0
_READY_TIMEOUT_S = 180.0


class EmbeddedAirflowError(RuntimeError):
    """The embedded Airflow could not be prepared or started; the message names its log."""


class RunningAirflow(ProcessIdentity):
    """``embedded-airflow.json``: which process supervises the home's Airflow, and where it answers."""

    port: int

    @property
    def url(self) -> str:
        """The base URL of page and API."""
        return f"http://127.0.0.1:{self.port}"


def running(home: Path) -> RunningAirflow | None:
    """The Airflow that some process runs in this home, or None."""
    try:
        record = RunningAirflow.model_validate_json(_record_file(home).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return record if record.is_alive else None


class EmbeddedAirflow:
    """The four components as children of this process, and the embedded store where no other is configured.

    Args:
        home: ``AIRFLOW_HOME``, inside the checkout by default.
        project: The project it serves.
        port: Of the web page; None takes a free one.
        host: Address that page and API listen on.
    """

    def __init__(
        self, home: Path, project: ProjectContext, *, port: int | None = None, host: str = "127.0.0.1"
    ) -> None:
        self._home = home
        self._project = project
        self._port = port
        self._host = host
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._environment: dict[str, str] = {}
        self._store = None if _store_is_configured() else EmbeddedStore(home / "object-store")
        self._claimed = False

    @property
    def store(self) -> EmbeddedStore | None:
        """The embedded store, or None where the environment names another."""
        return self._store

    def start(self, tell: Callable[[str], None]) -> RunningAirflow:
        """Start everything and wait until the API answers and the scheduler beats.

        Raises:
            EmbeddedAirflowError: Another process has this home, the port is taken, or a component died.
        """
        self._claim()
        self._end_leftovers()
        port = self._port or free_port()
        if not is_free(port):
            raise EmbeddedAirflowError(f"port {port} is taken; stop what listens there, or choose --port")
        store = {}
        if self._store:
            tell("object store")
            store = self._store.up().environment()
        address = (self._host, port)
        self._environment = environment(self._home, self._project.root, address, store) | self._mark
        self._prepare(tell)
        tell("Airflow")
        for component in COMPONENTS:
            self._launch(component)
        record = RunningAirflow(**ProcessIdentity.current().model_dump(), port=port)
        self._wait_until_ready(record)
        write_whole(_record_file(self._home), record.model_dump_json())
        return record

    def watch(self) -> None:
        """Start again whatever has died since the last look, the object store included."""
        if self._store and self._store.running() is None:
            self._store.up()
        for component, child in self._children.items():
            if child.poll() is not None:
                self._launch(component)

    def stop(self) -> None:
        """Stop every component, every launched job and the embedded store; no process is left behind.

        A no-op where another process has this home: its Airflow and its store are not ours to stop.
        """
        if not self._claimed:
            return
        _record_file(self._home).unlink(missing_ok=True)
        for child in self._children.values():
            _signal_group(child, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        for child in self._children.values():
            try:
                child.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal_group(child, signal.SIGKILL)
                child.wait()
            _signal_group(child, signal.SIGKILL)  # what a component forked and left
        self._end_leftovers()  # what it forked into a session of its own
        cancel_all(launches_folder({"AIRFLOW_HOME": str(self._home)}))
        if self._store and self._environment:
            self._store.down()

    def _claim(self) -> None:
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._home / ".embedded-airflow.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held until this process ends
        except BlockingIOError:
            raise EmbeddedAirflowError(
                f"another process runs, or is starting, Airflow in {self._home}"
            ) from None
        self._claimed = True

    @property
    def _mark(self) -> dict[str, str]:
        """What tells this home's components from any other process."""
        return {_MARK: str(self._home)}

    def _end_leftovers(self) -> None:
        """End the components of a supervisor that was killed: two schedulers on one home would race."""
        left = [process for process in psutil.process_iter() if _carries(process, self._mark)]
        end_all(left, _STOP_TIMEOUT_S)

    def _prepare(self, tell: Callable[[str], None]) -> None:
        """Migrate and size pools, unless this very version and catalogue have been prepared already."""
        catalogue = self._project.launchers_file
        content = catalogue.read_bytes() if catalogue.exists() else b""
        mark = hashlib.sha256(version("apache-airflow").encode() + content).hexdigest()
        done = self._home / ".prepared"
        if (
            done.exists()
            and done.read_text(encoding="utf-8") == mark
            and (self._home / "airflow.db").exists()
        ):
            return
        tell("Airflow's database")
        log = self._log("prepare")
        with log.open("ab") as output:
            prepared = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "seedance_ops.orchestration.embedded.prepare",
                    str(self._project.root),
                ],
                env=self._environment,
                stdout=output,
                stderr=output,
                check=False,
            )
        if prepared.returncode:
            raise EmbeddedAirflowError(f"Airflow's database could not be prepared; see {log}")
        write_whole(done, mark)

    def _launch(self, component: str) -> None:
        with self._log(component).open("ab") as output:
            self._children[component] = subprocess.Popen(
                [sys.executable, "-m", "airflow", component],
                env=self._environment,
                cwd=self._home,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _wait_until_ready(self, record: RunningAirflow) -> None:
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while time.monotonic() < deadline:
            for component, child in self._children.items():
                if child.poll() is not None:
                    raise EmbeddedAirflowError(
                        f"Airflow's {component} ended at once; see {self._log(component)}"
                    )
            if _is_healthy(record.url):
                return
            time.sleep(0.3)
        raise EmbeddedAirflowError(
            f"Airflow was not ready in {_READY_TIMEOUT_S:.0f} s; see {self._home / 'logs'}"
        )

    def _log(self, component: str) -> Path:
        folder = self._home / "logs" / "components"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{component}.log"


def _carries(process: psutil.Process, mark: Mapping[str, str]) -> bool:
    try:
        return mark.items() <= process.environ().items()
    except psutil.Error:
        return False


def _store_is_configured() -> bool:
    """Whether the environment names an object store; then the embedded one stays off."""
    names = (
        "AWS_ENDPOINT_URL_S3",
        "AWS_ENDPOINT_URL",
        "SEEDANCE_STORAGE_URI",
        "AIRFLOW_CONN_SEEDANCE_STORAGE",
    )
    return any(os.environ.get(name) for name in names)


def _record_file(home: Path) -> Path:
    return home / "embedded-airflow.json"


def _is_healthy(url: str) -> bool:
    try:
        health = httpx.get(f"{url}/api/v2/monitor/health", timeout=5).json()
    except (httpx.HTTPError, ValueError):
        return False
    return all(
        health[part]["status"] == "healthy"
        for part in ("metadatabase", "scheduler", "triggerer", "dag_processor")
    )


def _signal_group(child: subprocess.Popen[bytes], sign: signal.Signals) -> None:
    try:
        os.killpg(child.pid, sign)
    except ProcessLookupError:
        return
