"""Launch on this machine: torchrun, detached, found again by name from any process."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from seedance_ops.launchers.base import (
    FailureKind,
    LaunchHandle,
    LaunchSpec,
    LaunchState,
    LaunchStatus,
    LogChunk,
)
from seedance_ops.launchers.code_archive import unpack
from seedance_ops.launchers.environments import worker_environment
from seedance_ops.launchers.errors import LaunchError
from seedance_ops.launchers.processes import LAUNCH_VARIABLE, end_all, processes_of
from seedance_ops.launchers.secret_references import resolve
from seedance_ops.launchers.workspace import Ended, Started, Workspace
from seedance_ops.process_identity import this_host
from seedance_ops.whole_file import write_whole

_START_TIMEOUT_S = 60.0
_CANCEL_GRACE_S = 15.0
_STORE_PATIENCE_S = 60.0
_LOG_CHUNK_BYTES = 256 * 1024


class LocalLauncher:
    """A ``Launcher`` whose jobs are processes of this machine, one folder each below ``root``."""

    kind = "local"

    def __init__(self, root: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._root = root
        self._environ = environ

    def submit(self, spec: LaunchSpec) -> LaunchHandle:
        """See ``Launcher.submit``. A spec whose secrets lead nowhere is refused before anything starts.

        So is one for another host: a worker's jobs run where the worker runs.
        """
        if spec.on_nodes and this_host() not in spec.on_nodes:
            raise LaunchError(
                f"{spec.name} must run on {', '.join(spec.on_nodes)}, this worker is on {this_host()}: give "
                "the deployment one worker, or the task a queue that only one worker serves"
            )
        resolve(spec.secrets, self._environ)
        workspace = self.workspace(spec.name)
        workspace.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(workspace.submit_lock):
            if workspace.started() is None:
                self._prepare(workspace, spec)
                self._start(workspace, spec)
        return self._handle(spec.name, workspace.started())

    def find(self, name: str) -> LaunchHandle | None:
        """See ``Launcher.find``."""
        started = self.workspace(name).started()
        return self._handle(name, started) if started else None

    def status(self, handle: LaunchHandle) -> LaunchStatus:
        """See ``Launcher.status``. Only the job's own host, in the same boot, may call it lost."""
        workspace = self.workspace(handle.name)
        started, ended, progress = workspace.started(), workspace.ended(), workspace.progress()
        if started and not ended and _vanished(started):
            ended = workspace.ended() or _lost(workspace)  # it may have ended between the two looks
        return LaunchStatus(
            state=_state(started, ended),
            reason=ended.reason if ended else None,
            failure=ended.failure if ended else None,
            step=progress.step if progress else None,
            total_steps=progress.total_steps if progress else None,
            last_progress_at_s=progress.at_s if progress else None,
            submitted_at_s=workspace.submitted_at_s(),
            started_at_s=started.started_at_s if started else None,
            ended_at_s=ended.ended_at_s if ended else None,
            nodes=(started.host,) if started else (),
            exit_codes=ended.exit_codes if ended else {},
            mean_cpu_utilisation=ended.mean_cpu_utilisation if ended else None,
            peak_memory_bytes=ended.peak_memory_bytes if ended else None,
        )

    def logs(self, handle: LaunchHandle, since: int) -> LogChunk:
        """See ``Launcher.logs``; at most 256 KiB a call."""
        try:
            with self.workspace(handle.name).log.open("rb") as file:
                file.seek(since)
                data = file.read(_LOG_CHUNK_BYTES)
        except FileNotFoundError:
            return LogChunk(text="", next_offset=since)
        # A line that is still being written is left for the next call.
        whole = data[: data.rfind(b"\n") + 1] or data
        return LogChunk(text=whole.decode("utf-8", errors="replace"), next_offset=since + len(whole))

    def cancel(self, handle: LaunchHandle) -> None:
        """See ``Launcher.cancel``. The wrapper is asked first, so that it can write how the job ended."""
        started = self.workspace(handle.name).started()
        if started and started.host != this_host():
            raise LaunchError(f"{handle.name} runs on {started.host}: cancel it there")
        wrapper = started.process() if started else None
        if wrapper:
            end_all([wrapper], _CANCEL_GRACE_S)
        end_all(processes_of(handle.name), _CANCEL_GRACE_S)

    def workspace(self, name: str) -> Workspace:
        """The folder of a job."""
        return Workspace(self._root / name)

    def _prepare(self, workspace: Workspace, spec: LaunchSpec) -> None:
        if spec.code:
            from seedance_ops.storage.client import ObjectStore

            archive = ObjectStore(spec.code.location, patience_s=_STORE_PATIENCE_S).get(spec.code.key)
            unpack(archive, spec.code.sha256, workspace.code)
        spec.plan.write(workspace.plan)
        write_whole(workspace.spec, spec.model_dump_json(indent=2))

    def _start(self, workspace: Workspace, spec: LaunchSpec) -> None:
        with workspace.log.open("ab") as log:
            wrapper = subprocess.Popen(
                [sys.executable, "-m", "seedance_ops.launchers.local_wrapper", str(workspace.folder)],
                cwd=workspace.folder,
                env=worker_environment(self._environ)
                | _referenced(spec.secrets, self._environ)
                | {LAUNCH_VARIABLE: spec.name},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_TIMEOUT_S
        while workspace.started() is None:
            if wrapper.poll() is not None or time.monotonic() > deadline:
                raise LaunchError(f"{spec.name}: the job's wrapper did not start; see {workspace.log}")
            time.sleep(0.02)

    def _handle(self, name: str, started: Started | None) -> LaunchHandle:
        details = {"folder": str(self._root / name)} | (started.model_dump() if started else {})
        return LaunchHandle(launcher=self.kind, name=name, details=details)


def _vanished(started: Started) -> bool:
    return started.host == this_host() and not started.is_alive


def _referenced(references: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that ``env:`` references name, for the wrapper to resolve them itself."""
    names = [
        reference.removeprefix("env:") for reference in references.values() if reference.startswith("env:")
    ]
    return {name: environ[name] for name in names}


def _state(started: Started | None, ended: Ended | None) -> LaunchState:
    if ended:
        return ended.state
    return LaunchState.RUNNING if started else LaunchState.LOST


def _lost(workspace: Workspace) -> Ended:
    return Ended(
        state=LaunchState.LOST,
        failure=FailureKind.NODE_LOST,
        reason="the job's processes are gone and none wrote how it ended (killed, or the machine restarted)",
        ended_at_s=min(time.time(), workspace.last_sign_of_life_s() or time.time()),
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
