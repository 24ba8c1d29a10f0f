"""One run of a job against an Airflow that is there already, or that is started for it."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live

from seedance_ops.cli.interruption import interrupt_on_signals
from seedance_ops.cli.live import RunView, Snapshot
from seedance_ops.jobs.loader import Job
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.launchers.factory import launches_folder
from seedance_ops.launchers.local import LocalLauncher
from seedance_ops.launchers.running import RunningLaunch, running_launches
from seedance_ops.orchestration.client import AirflowAway, AirflowClient, AirflowRefused, run_id_now
from seedance_ops.orchestration.embedded.components import EmbeddedAirflow, EmbeddedAirflowError, running
from seedance_ops.orchestration.embedded.settings import USER, bundle_folder, keys_of
from seedance_ops.orchestration.embedded.unusable_home import home_is_unusable
from seedance_ops.orchestration.job_files import JobFiles
from seedance_ops.storage.server import EmbeddedStoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

SUCCEEDED, FAILED, INVALID, INTERRUPTED = 0, 1, 2, 130
_PARSE_TIMEOUT_S = 120.0
_CANCEL_TIMEOUT_S = 60.0
_AWAY_TIMEOUT_S = 90.0
_POLL_S = 1.0


class NameTaken(ValueError):  # noqa: N818 - names what is wrong
    """Another file has a job of the same name."""


class RunSession:
    """Trigger, show, and on Ctrl-C cancel.

    Args:
        home: ``AIRFLOW_HOME``.
        project: The project.
        file: The job's file.
        job: The job with this run's overrides, for the display.
        console: Where it is shown; by default standard output.
    """

    def __init__(
        self, home: Path, project: ProjectContext, file: Path, job: Job, console: Console | None = None
    ) -> None:
        self._home = home
        self._project = project
        self._file = file
        self._job = job
        self._console = console or Console()
        self._own: EmbeddedAirflow | None = None

    def run(self, conf: Mapping[str, Any], *, interactive: bool) -> int:
        """The exit code of ``seedance run``."""
        interrupt_on_signals()
        try:
            self._refuse_namesake()
            return self._run(conf, interactive=interactive)
        except NameTaken as error:
            self._print_error(str(error))
            return INVALID
        except (EmbeddedAirflowError, EmbeddedStoreError, AirflowRefused) as error:
            self._print_error(str(error))
            return FAILED
        except OSError as error:
            self._print_error(home_is_unusable(self._home, error))
            return FAILED
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            if self._own:
                with _ignoring_interrupts():
                    self._console.print("stopping Airflow …", style="dim")
                    self._own.stop()

    def _refuse_namesake(self) -> None:
        files = JobFiles(self._project, bundle_folder(self._home))
        if other := files.namesake(self._file):
            name = self._job.metadata.name
            raise NameTaken(f"{self._file}: {other} has a job named {name} too; give this one another name")

    def _run(self, conf: Mapping[str, Any], *, interactive: bool) -> int:
        client = self._connect()
        dag_id = self._job.metadata.name
        self._wait_until_parsed(client, dag_id)
        was_paused = client.is_paused(dag_id)
        if was_paused:
            client.pause(dag_id, paused=False)
        run_id = run_id_now()
        try:
            client.trigger(dag_id, run_id, conf)
            state = self._watch(client, dag_id, run_id, interactive=interactive)
        except BaseException:
            with _ignoring_interrupts():
                self._cancel(client, dag_id, run_id)
            raise
        finally:
            if was_paused:
                with contextlib.suppress(AirflowRefused):
                    client.pause(dag_id, paused=True)
        self._print_result(client, run_id)
        return SUCCEEDED if state == "success" else FAILED

    def _print_error(self, message: str) -> None:
        self._console.print(f"error: {message}", style="red", highlight=False, markup=False)

    def _connect(self) -> AirflowClient:
        found = running(self._home)
        if found is None:
            self._own = EmbeddedAirflow(self._home, self._project)
            found = self._own.start(lambda what: self._console.print(f"starting {what} …", style="dim"))
        return AirflowClient(found.url, USER, keys_of(self._home).password)

    def _wait_until_parsed(self, client: AirflowClient, dag_id: str) -> None:
        """Until Airflow has the DAG of the file as it is now, not of an earlier edit."""
        files = JobFiles(self._project, bundle_folder(self._home))
        files.watch(self._file)
        wanted = files.stub(self._file)
        deadline = time.monotonic() + _PARSE_TIMEOUT_S
        while client.source(dag_id) != wanted:
            if time.monotonic() > deadline:
                reason = client.import_error(self._file.name) or "no import error is known"
                raise AirflowRefused(f"Airflow has not loaded {self._file}: {reason}")
            time.sleep(0.5)

    def _watch(self, client: AirflowClient, dag_id: str, run_id: str, *, interactive: bool) -> str:
        answer_at = client.question_url(dag_id, run_id)
        view = RunView(self._job, run_id, self._home / "logs", answer_at=answer_at)
        answered_s = time.monotonic()
        with Live(console=self._console, auto_refresh=False, transient=False) as live:
            while True:
                if self._own:
                    self._own.watch()
                try:
                    state = client.run_state(dag_id, run_id)
                    snapshot = Snapshot(client.task_instances(dag_id, run_id), self._launches(run_id))
                    answered_s = time.monotonic()
                except AirflowAway:
                    if time.monotonic() - answered_s > _AWAY_TIMEOUT_S:
                        raise
                    time.sleep(_POLL_S)
                    continue
                if interactive:
                    live.update(view.render(snapshot), refresh=True)
                elif line := view.news(snapshot):
                    self._console.print(line, highlight=False, soft_wrap=True)
                if state in ("success", "failed"):
                    return state
                time.sleep(_POLL_S)

    def _launches(self, run_id: str) -> list[RunningLaunch]:
        return running_launches(launches_folder(), self._job.metadata.name, run_id)

    def _cancel(self, client: AirflowClient, dag_id: str, run_id: str) -> None:
        """Fail the run, so that Airflow cancels its jobs, and then make sure that none is left."""
        self._console.print("cancelling …")
        try:
            client.fail_run(dag_id, run_id)
            self._wait_until_ended(client, dag_id, run_id)
        except AirflowRefused as error:
            self._console.print(f"warning: {error}", style="yellow", highlight=False)
        launcher = LocalLauncher(launches_folder())
        for launch in self._launches(run_id):
            if handle := launcher.find(launch.name):
                launcher.cancel(handle)
        left = [launch.name for launch in self._launches(run_id)]
        self._console.print(
            f"still alive: {', '.join(left)}" if left else "cancelled: no job of this run is left"
        )

    def _wait_until_ended(self, client: AirflowClient, dag_id: str, run_id: str) -> None:
        deadline = time.monotonic() + _CANCEL_TIMEOUT_S
        while time.monotonic() < deadline:
            tasks = client.task_instances(dag_id, run_id)
            active = any(
                task["state"] in ("running", "deferred", "queued", "awaiting_input") for task in tasks
            )
            if not active and not self._launches(run_id):
                return
            time.sleep(_POLL_S / 2)

    def _print_result(self, client: AirflowClient, run_id: str) -> None:
        from seedance_ops.cli.result import print_result

        name = self._job.metadata.name
        page, document = (client.report(name, run_id, form) for form in ("html", "json"))
        print_result(self._console, self._home, name, run_id, page=page, document=document)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """A second Ctrl-C must not stop the cleaning up that the first one began."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
