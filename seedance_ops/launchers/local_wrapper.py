"""The process that is a local job: starts torchrun or a command, watches it, and writes how it ended.

Run as ``python -m seedance_ops.launchers.local_wrapper FOLDER``, in a session of its own. Whatever its
children leave behind is handed to it and ended, so that a finished job has no living process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import psutil

from seedance_ops.launchers.base import FailureKind, LaunchSpec, LaunchState
from seedance_ops.launchers.environments import job_environment
from seedance_ops.launchers.errors import LaunchError
from seedance_ops.launchers.failures import classify, describe, exit_codes_by_rank, kind_of_refusal
from seedance_ops.launchers.processes import become_subreaper, end_all
from seedance_ops.launchers.reported_results import upload_results
from seedance_ops.launchers.usage import UsageSampler
from seedance_ops.launchers.workspace import Ended, Started, Workspace
from seedance_ops.process_identity import ProcessIdentity
from seedance_ops.storage.errors import StorageError
from seedance_ops.whole_file import create_whole, write_whole

_POLL_S = 0.5
_GRACE_S = 10.0
_TAIL_BYTES = 64 * 1024


def main() -> int:
    """Run the job of the folder named on the command line; 0 also when another wrapper has it already."""
    workspace = Workspace(Path(sys.argv[1]))
    spec = LaunchSpec.model_validate_json(workspace.spec.read_text(encoding="utf-8"))
    me = Started(**ProcessIdentity.current().model_dump(), started_at_s=time.time())
    began_s = time.monotonic()
    if not create_whole(workspace.started_file, me.model_dump_json()):
        return 0
    become_subreaper()

    def finish(ended: Ended) -> None:
        end_all(psutil.Process().children(recursive=True), _GRACE_S)
        # Billed time is elapsed time: a clock that jumps while the job runs must not change the bill.
        at_s = me.started_at_s + (time.monotonic() - began_s)
        write_whole(workspace.ended_file, ended.model_copy(update={"ended_at_s": at_s}).model_dump_json())

    try:
        ended = _run(workspace, spec, _Cancellation())
    except (OSError, ValueError, LaunchError, StorageError) as error:
        ended = Ended(state=LaunchState.FAILED, failure=kind_of_refusal(error), reason=str(error))
    except Exception as error:
        # Without a last word the job would count as lost, and nobody would look for the defect here.
        reason = f"the launcher's wrapper failed: {type(error).__name__}: {error}"
        finish(Ended(state=LaunchState.FAILED, failure=FailureKind.PROGRAM, reason=reason))
        raise
    finish(ended)
    return 0 if ended.state is LaunchState.SUCCEEDED else 1


class _Cancellation:
    """Remembers that somebody asked this job to end."""

    def __init__(self) -> None:
        self.requested = False
        signal.signal(signal.SIGTERM, self._remember)
        signal.signal(signal.SIGINT, self._remember)

    def _remember(self, _signal: int, _frame: FrameType | None) -> None:
        self.requested = True


def _run(workspace: Workspace, spec: LaunchSpec, cancelled: _Cancellation) -> Ended:
    usage = UsageSampler()
    with workspace.log.open("ab") as log:
        child = subprocess.Popen(
            _argv(workspace, spec),
            cwd=workspace.code / spec.workdir if spec.code else workspace.folder,
            env=job_environment(workspace, spec, os.environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    usage.sample()
    while _still_runs(child):
        if cancelled.requested:
            _end(child)
        usage.sample()
    return _judge(workspace, spec, child.returncode, cancelled).model_copy(
        update={
            "mean_cpu_utilisation": usage.mean_cpu_utilisation(),
            "peak_memory_bytes": usage.peak_memory_bytes,
        }
    )


def _still_runs(child: subprocess.Popen[bytes]) -> bool:
    """After a pause, or at once when the child ends: the pause must not be billed."""
    try:
        child.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child with all below it; psutil reaps it, so that its exit code has to be handed over."""
    leader = psutil.Process(child.pid)
    end_all([leader, *leader.children(recursive=True)], _GRACE_S)
    with contextlib.suppress(psutil.TimeoutExpired):
        child.returncode = leader.wait(0)


def _judge(workspace: Workspace, spec: LaunchSpec, exit_code: int, cancelled: _Cancellation) -> Ended:
    if exit_code == 0 and spec.runtime == "none" and not cancelled.requested:
        try:
            upload_results(workspace, spec, lambda: cancelled.requested)
        except StorageError:
            if not cancelled.requested:
                raise
    if cancelled.requested:
        return Ended(state=LaunchState.CANCELLED, reason="cancelled", exit_codes={"job": exit_code})
    if exit_code == 0:
        return Ended(state=LaunchState.SUCCEEDED, exit_codes={"job": 0})
    tail, words = _tail(workspace.log), workspace.last_words()
    codes = exit_codes_by_rank(tail, exit_code, words)
    return Ended(
        state=LaunchState.FAILED,
        failure=classify(codes, tail, words),
        reason=describe(codes, tail, words),
        exit_codes=codes,
    )


def _argv(workspace: Workspace, spec: LaunchSpec) -> list[str]:
    command = [sys.executable if spec.command[0] == "python" else spec.command[0], *spec.command[1:]]
    if spec.launch == "none":
        return command
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nnodes=1",
        f"--nproc-per-node={spec.processes_per_node}",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=127.0.0.1:0",
        f"--rdzv-id={spec.name}",
        "--max-restarts=0",
        "--tee=3",
        f"--log-dir={workspace.folder / 'ranks'}",
        "--no-python",
    ]
    return torchrun + command


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read().decode("utf-8", errors="replace")


if __name__ == "__main__":
    sys.exit(main())
