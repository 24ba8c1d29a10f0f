"""The local launcher keeps the protocol's promises on real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seedance_ops.launchers.base import FailureKind, LaunchHandle, LaunchSpec, LaunchState
from seedance_ops.launchers.errors import LaunchError
from seedance_ops.launchers.local import LocalLauncher
from seedance_ops.launchers.processes import processes_of
from seedance_ops.process_identity import this_host
from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.config import BatchConfig, StopCondition
from seedance_ops.training.plan import LaunchPlan

PLAN = LaunchPlan(
    job="job",
    job_hash="0" * 64,
    run_id="run",
    variant="baseline",
    seed=0,
    submission=1,
    batch=BatchConfig(per_rank=1),
    stop=StopCondition(steps=1),
    storage=StorageLocation(uri="s3://nowhere/at-all"),
)


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[LocalLauncher]:
    environ = os.environ | {"AIRFLOW__CORE__FERNET_KEY": "airflow-secret", "API_TOKEN": "the-token"}
    root = tmp_path / "launches"
    yield LocalLauncher(root, environ)
    for folder in root.glob("*"):
        for process in processes_of(folder.name):
            process.kill()


def shell(script: str, name: str = "job", **more: object) -> LaunchSpec:
    return LaunchSpec(
        name=f"{name}-{os.getpid()}",
        command=("bash", "-c", script),
        launch="none",
        runtime="none",
        processes_per_node=1,
        plan=PLAN,
        **more,  # type: ignore[arg-type]
    )


def until(condition: Callable[[], object], timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.05)


def wait_for_end(launcher: LocalLauncher, handle: LaunchHandle) -> LaunchState:
    until(lambda: launcher.status(handle).state.terminal)
    return launcher.status(handle).state


def test_a_job_runs_to_its_end_and_tells_times_and_usage(launcher: LocalLauncher) -> None:
    handle = launcher.submit(shell("echo hello; sleep 1"))
    assert launcher.status(handle).state is LaunchState.RUNNING
    assert wait_for_end(launcher, handle) is LaunchState.SUCCEEDED
    status = launcher.status(handle)
    assert status.submitted_at_s <= status.started_at_s <= status.ended_at_s - 1.0
    assert launcher.logs(handle, 0).text == "hello\n"
    assert launcher.logs(handle, 6).text == ""


def test_submitting_twice_at_once_starts_one_job(launcher: LocalLauncher, tmp_path: Path) -> None:
    spec = shell(f"echo started >> {tmp_path}/starts; sleep 1")
    handles: list[LaunchHandle] = []
    threads = [threading.Thread(target=lambda: handles.append(launcher.submit(spec))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wait_for_end(launcher, handles[0]) is LaunchState.SUCCEEDED
    assert len({str(handle) for handle in handles}) == 1
    assert (tmp_path / "starts").read_text() == "started\n"


def test_a_submitter_that_died_after_starting_the_job_pays_for_no_second_one(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    spec = shell(f"echo started >> {tmp_path}/starts; sleep 2")
    if (child := os.fork()) == 0:
        launcher.submit(spec)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    handle = launcher.submit(spec)
    assert handle == launcher.find(spec.name)
    assert wait_for_end(launcher, handle) is LaunchState.SUCCEEDED
    assert (tmp_path / "starts").read_text() == "started\n"


def test_cancel_ends_every_process_even_those_that_left_the_session(launcher: LocalLauncher) -> None:
    spec = shell("setsid bash -c 'trap \"\" TERM; sleep 600 & wait' & sleep 600")
    handle = launcher.submit(spec)
    until(lambda: len(processes_of(spec.name)) >= 4)
    launcher.cancel(handle)
    assert processes_of(spec.name) == []
    assert launcher.status(handle).state is LaunchState.CANCELLED
    launcher.cancel(handle)


@pytest.mark.parametrize(("script", "code"), [("sleep 600", -15), ("trap 'exit 3' TERM; sleep 600", 3)])
def test_a_cancelled_job_tells_its_real_exit_code(launcher: LocalLauncher, script: str, code: int) -> None:
    spec = shell(f"{script} & wait", name="ended")
    handle = launcher.submit(spec)
    until(lambda: len(processes_of(spec.name)) >= 3)
    launcher.cancel(handle)
    assert launcher.status(handle).exit_codes == {"job": code}


def test_a_defect_of_the_wrapper_itself_is_told_and_not_a_lost_job(launcher: LocalLauncher) -> None:
    spec = shell("true", name="defect")
    workspace = launcher.workspace(spec.name)
    workspace.folder.mkdir(parents=True)
    workspace.spec.write_text(spec.model_dump_json())
    broken = (
        "import sys; from seedance_ops.launchers import local_wrapper as wrapper\n"
        "def _run(*_): raise KeyError('a defect')\n"
        "wrapper._run = _run; sys.exit(wrapper.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", broken, str(workspace.folder)], check=False, capture_output=True, text=True
    )
    ended = workspace.ended()
    assert ended is not None
    assert (ended.state, ended.failure) == (LaunchState.FAILED, FailureKind.PROGRAM)
    assert "KeyError: 'a defect'" in str(ended.reason)
    assert "Traceback" in done.stderr


def test_a_killed_wrapper_is_lost_and_its_orphans_can_be_ended(launcher: LocalLauncher) -> None:
    spec = shell("sleep 600")
    handle = launcher.submit(spec)
    until(lambda: processes_of(spec.name))
    os.kill(int(str(handle.details["pid"])), signal.SIGKILL)
    assert wait_for_end(launcher, handle) is LaunchState.LOST
    launcher.cancel(handle)
    assert processes_of(spec.name) == []


def test_a_lost_job_is_billed_to_its_last_sign_of_life_and_not_to_when_somebody_looked(
    launcher: LocalLauncher,
) -> None:
    handle = launcher.submit(shell("sleep 600", name="gone"))
    workspace = launcher.workspace(handle.name)
    started = workspace.started()
    assert started is not None
    for process in processes_of(handle.name):
        process.kill()
    began_s = started.started_at_s - 3600.0
    workspace.started_file.write_text(
        started.model_copy(update={"start_ticks": 1, "started_at_s": began_s}).model_dump_json()
    )
    os.utime(workspace.log, (began_s + 60, began_s + 60))
    assert launcher.status(handle).ended_at_s == pytest.approx(began_s + 60)
    workspace.progress_file.write_text(f'{{"step": 3, "at_s": {began_s + 90}}}')
    assert launcher.status(handle).ended_at_s == pytest.approx(began_s + 90)
    workspace.log.unlink()
    workspace.progress_file.unlink()
    assert launcher.status(handle).ended_at_s == pytest.approx(began_s)


def test_another_host_and_another_boot_never_mistake_the_job(launcher: LocalLauncher) -> None:
    handle = launcher.submit(shell("sleep 600"))
    workspace = launcher.workspace(handle.name)
    started = workspace.started()
    assert started is not None

    workspace.started_file.write_text(
        started.model_copy(update={"host": "elsewhere", "pid": 2**22}).model_dump_json()
    )
    assert launcher.status(handle).state is LaunchState.RUNNING
    with pytest.raises(LaunchError, match="runs on elsewhere"):
        launcher.cancel(handle)

    workspace.started_file.write_text(started.model_copy(update={"boot_id": "earlier"}).model_dump_json())
    assert launcher.status(handle).state is LaunchState.LOST

    workspace.started_file.write_text(started.model_dump_json())
    launcher.cancel(handle)


def test_a_failed_rank_is_told_by_number_code_and_kind(launcher: LocalLauncher, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, sys, time\nif os.environ['RANK'] == '1': sys.exit(78)\ntime.sleep(60)\n")
    spec = LaunchSpec(
        name=f"ranks-{os.getpid()}", command=("python", str(script)), processes_per_node=2, plan=PLAN
    )
    handle = launcher.submit(spec)
    assert wait_for_end(launcher, handle) is LaunchState.FAILED
    status = launcher.status(handle)
    assert status.exit_codes["1"] == 78
    assert status.failure is FailureKind.BAD_INPUT
    until(lambda: processes_of(spec.name) == [], timeout_s=60.0)  # the wrapper ends after it has told


def test_a_job_sees_its_secrets_but_neither_airflows_nor_anothers_switches(
    launcher: LocalLauncher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SEEDANCE_COMPRESS_GRADIENTS", "1")
    spec = shell(f"env > {tmp_path}/seen", secrets={"HUB": "env:API_TOKEN"})
    assert wait_for_end(launcher, launcher.submit(spec)) is LaunchState.SUCCEEDED
    seen = (tmp_path / "seen").read_text()
    assert "HUB=the-token" in seen
    assert "airflow-secret" not in seen
    assert "SEEDANCE_COMPRESS_GRADIENTS" not in seen
    folder = launcher.workspace(spec.name).folder
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"the-token" not in written


def test_a_secret_that_leads_nowhere_starts_nothing(launcher: LocalLauncher) -> None:
    spec = shell("true", secrets={"HUB": "env:NOT_THERE"})
    with pytest.raises(LaunchError, match=r"secret HUB: .* NOT_THERE"):
        launcher.submit(spec)
    assert launcher.find(spec.name) is None


def test_a_command_that_does_not_exist_is_bad_input(launcher: LocalLauncher) -> None:
    spec = shell("true").model_copy(update={"command": ("no-such-program",)})
    handle = launcher.submit(spec)
    assert wait_for_end(launcher, handle) is LaunchState.FAILED
    assert launcher.status(handle).failure is FailureKind.BAD_INPUT
    assert "no-such-program" in str(launcher.status(handle).reason)


def test_a_torn_or_foreign_file_in_the_workspace_is_no_crash(launcher: LocalLauncher) -> None:
    handle = launcher.submit(shell("sleep 600"))
    workspace = launcher.workspace(handle.name)
    workspace.progress_file.write_text('{"step": 3, ')
    workspace.ended_file.write_text("[]")
    assert launcher.status(handle).state is LaunchState.RUNNING
    workspace.progress_file.write_bytes(b'{"step": 3, "at_s": 1.0, "phase": "\xff"}')
    assert launcher.status(handle).state is LaunchState.RUNNING
    workspace.ended_file.unlink()
    launcher.cancel(handle)
    assert launcher.status(handle).state is LaunchState.CANCELLED


def test_a_job_that_belongs_on_another_node_is_refused_before_it_starts(launcher: LocalLauncher) -> None:
    elsewhere = shell("true", name="elsewhere", on_nodes=("another-host",))
    with pytest.raises(LaunchError, match="must run on another-host"):
        launcher.submit(elsewhere)
    assert launcher.find(elsewhere.name) is None
    here = launcher.submit(shell("true", name="here", on_nodes=(this_host(),)))
    assert wait_for_end(launcher, here) is LaunchState.SUCCEEDED
    assert launcher.status(here).nodes == (this_host(),)
