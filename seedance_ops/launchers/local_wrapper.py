"""The process that is a local job: starts torchrun or a command, watches it, and writes how it ended.

Run as ``python -m seedance_ops.launchers.local_wrapper FOLDER``, in a session of its own. Whatever its
children leave behind is handed to it and ended, so that a finished job has no living process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

import psutil

from seedance_ops.launchers.base import FailureKind, LaunchSpec, LaunchState
from seedance_ops.launchers.failures import classify, describe, exit_codes_by_rank
from seedance_ops.launchers.processes import LAUNCH_VARIABLE, become_subreaper, end_all
from seedance_ops.launchers.secret_references import resolve
from seedance_ops.launchers.workspace import Ended, Started, Workspace
from seedance_ops.process_identity import ProcessIdentity
from seedance_ops.training.plan import PLAN_VARIABLE
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
    cancelled = _Cancellation()
    try:
        ended = _run(workspace, spec, cancelled)
    except (OSError, ValueError, RuntimeError) as error:
        ended = Ended(state=LaunchState.FAILED, failure=FailureKind.BAD_INPUT, reason=str(error))
    end_all(psutil.Process().children(recursive=True), _GRACE_S)
    # Billed time is elapsed time: a clock that jumps while the job runs must not change the bill.
    ended = ended.model_copy(update={"ended_at_s": me.started_at_s + (time.monotonic() - began_s)})
    write_whole(workspace.ended_file, ended.model_dump_json())
    return 0 if ended.state is LaunchState.SUCCEEDED else 1


class _Cancellation:
    """Remembers that somebody asked this job to end."""

    def __init__(self) -> None:
        self.requested = False
        signal.signal(signal.SIGTERM, self._remember)
        signal.signal(signal.SIGINT, self._remember)

    def _remember(self, _signal: int, _frame: FrameType | None) -> None:
        self.requested = True


class _UsageSampler:
    """CPU share and peak memory of this process's descendants, by sampling."""

    def __init__(self) -> None:
        self._cpu_s: dict[int, float] = {}
        self._began_s = time.monotonic()
        self.peak_memory_bytes = 0

    def sample(self) -> None:
        memory = 0
        for process in psutil.Process().children(recursive=True):
            try:
                times = process.cpu_times()
                memory += process.memory_info().rss
            except psutil.Error:
                continue
            self._cpu_s[process.pid] = times.user + times.system
        self.peak_memory_bytes = max(self.peak_memory_bytes, memory)

    def mean_cpu_utilisation(self) -> float:
        available_s = (time.monotonic() - self._began_s) * (os.cpu_count() or 1)
        return min(1.0, sum(self._cpu_s.values()) / max(available_s, 1e-9))


def _run(workspace: Workspace, spec: LaunchSpec, cancelled: _Cancellation) -> Ended:
    usage = _UsageSampler()
    with workspace.log.open("ab") as log:
        child = subprocess.Popen(
            _argv(workspace, spec),
            cwd=workspace.code / spec.workdir if spec.code else workspace.folder,
            env=_environment(workspace, spec),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    usage.sample()
    while _still_runs(child):
        if cancelled.requested:
            end_all(
                [psutil.Process(child.pid), *psutil.Process(child.pid).children(recursive=True)], _GRACE_S
            )
        usage.sample()
    return _judge(workspace, spec, child.returncode, cancelled.requested).model_copy(
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


def _judge(workspace: Workspace, spec: LaunchSpec, exit_code: int, cancelled: bool) -> Ended:  # noqa: FBT001
    if cancelled:
        return Ended(
            state=LaunchState.CANCELLED,
            reason="cancelled",
            exit_codes={"job": exit_code},
        )
    if exit_code == 0:
        if spec.runtime == "none":
            _upload_results(workspace, spec)
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


def _environment(workspace: Workspace, spec: LaunchSpec) -> dict[str, str]:
    """What the job sees: the machine's own basics, the store's credentials, the job's variables, ours.

    The Airflow worker's environment holds Airflow's secrets, and may hold another launch's ``SEEDANCE_*``.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEEDANCE_")}
    environment |= dict(spec.env) | resolve(spec.secrets, os.environ)
    environment |= {
        LAUNCH_VARIABLE: spec.name,
        "SEEDANCE_WORKSPACE": str(workspace.folder),
        "SEEDANCE_PROGRESS_FILE": str(workspace.progress_file),
        "SEEDANCE_METRICS_FILE": str(workspace.metrics_file),
        "SEEDANCE_JOB": spec.plan.job,
        "SEEDANCE_RUN_ID": spec.plan.run_id,
        "SEEDANCE_VARIANT": spec.plan.variant,
        "SEEDANCE_SEED": str(spec.plan.seed),
        "PYTHONUNBUFFERED": "1",
    }
    if spec.runtime == "session":
        environment[PLAN_VARIABLE] = str(workspace.plan)
    return environment


def _upload_results(workspace: Workspace, spec: LaunchSpec) -> None:
    """Put what a ``runtime: none`` job reported beside what a session would have written itself."""
    if not workspace.metrics_file.exists():
        return
    from seedance_ops.storage.client import ObjectStore

    ObjectStore(spec.plan.storage).put(
        f"evaluations/submission-{spec.plan.submission:03d}/metrics.jsonl",
        workspace.metrics_file.read_bytes(),
    )


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read().decode("utf-8", errors="replace")


def worker_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of the submitting process's environment that a job may inherit."""
    kept = (
        "PATH",
        "HOME",
        "USER",
        "LANG",
        "LC_ALL",
        "TZ",
        "TMPDIR",
        "LD_LIBRARY_PATH",
        "VIRTUAL_ENV",
        "PYTHONPATH",
    )
    families = ("AWS_", "CUDA_", "NVIDIA_", "NCCL_", "GLOO_", "OMP_", "MKL_", "OPENBLAS_")
    return {name: value for name, value in environ.items() if name in kept or name.startswith(families)}


if __name__ == "__main__":
    sys.exit(main())
