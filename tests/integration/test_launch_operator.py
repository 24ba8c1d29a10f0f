"""The operator and its trigger on real processes: nothing is paid for twice, nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("airflow")

from airflow.sdk.exceptions import TaskDeferred

from seedance_ops.cost.catalogue import Price
from seedance_ops.jobs.loader import load_job_text
from seedance_ops.jobs.manifest import RunManifest, plan_runs
from seedance_ops.jobs.profiles import LocalProfile
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.launchers.base import FailureKind, LaunchState, LaunchStatus
from seedance_ops.launchers.factory import launches_folder
from seedance_ops.launchers.processes import processes_of
from seedance_ops.launchers.running import cancel_all
from seedance_ops.orchestration import triggers
from seedance_ops.orchestration.failures import (
    Cancelled,
    NodeLost,
    RetriesExhausted,
    TrainingFailed,
    failure_of,
    retry_policy,
)
from seedance_ops.orchestration.hooks import StorageHook
from seedance_ops.orchestration.launch_records import records_of
from seedance_ops.orchestration.operators.launch import LaunchTrainingOperator
from seedance_ops.orchestration.triggers import LaunchTrigger
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.server import StoreRecord

JOB = """
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {{name: launched}}
workload:
  command: [bash, -c, '{script}']
  runtime: none
  launch: none
launcher: {{kind: local, price: local-cpu}}
variants: {{baseline: {{}}}}
repeats: {{seeds: 1}}
accept: report
"""
RUN_ID = "manual__2026-12-01T00:00:00+00:00"


class TaskState(dict[str, Any]):
    """Airflow's store of a task's state, which outlives its worker."""

    def set(self, key: str, value: Any, *, retention: Any = None) -> None:
        self[key] = value


@pytest.fixture
def run(
    location: StorageLocation, store_server: StoreRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RunStore]:
    """A run's store, reached through an Airflow connection, with no AWS variable set."""
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    monkeypatch.setattr(triggers, "_SETTLE_S", 0.0)  # no scheduler is here to wait for
    for name in store_server.environment():
        monkeypatch.delenv(name)
    extras = {"endpoint_url": location.endpoint_url, "region_name": "us-east-1", "uri": location.uri}
    query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in extras.items())
    keys = f"{store_server.access_key}:{quote(store_server.secret_key, safe='')}"
    monkeypatch.setenv("AIRFLOW_CONN_SEEDANCE_STORAGE", f"aws://{keys}@/?{query}")
    hook = StorageHook()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "to be replaced")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "to be replaced")
    hook.activate()
    yield RunStore(hook.location, "launched", RUN_ID)
    for folder in launches_folder().glob("*"):
        for process in processes_of(folder.name):
            process.kill()


def plan(run: RunStore, script: str, more: str = "", prices: dict[str, Price] | None = None) -> None:
    job = load_job_text(JOB.format(script=script) + more, Path("job.yaml"), project=None).job
    run.write(
        "manifest.json",
        RunManifest(
            job=job,
            job_hash="a" * 64,
            source="job.yaml",
            run_id=RUN_ID,
            runs=plan_runs(job, RUN_ID),
            profiles={"baseline": LocalProfile(kind="local", price="local-cpu")},
            prices=prices or {},
            planned_at_s=time.time(),
        ),
    )
    run.write_stamp({"job": "launched"})


def operator() -> LaunchTrainingOperator:
    return LaunchTrainingOperator(
        task_id="train", job_name="launched", variant="baseline", seed=0, order=0, poll_interval_s=0.1
    )


def context(state: TaskState, max_tries: int = 2) -> Any:
    return {"run_id": RUN_ID, "task_state_store": state, "ti": SimpleNamespace(max_tries=max_tries)}


def execute(state: TaskState, max_tries: int = 2) -> LaunchTrigger:
    with pytest.raises(TaskDeferred) as deferred:
        operator().execute(context(state, max_tries))
    assert isinstance(deferred.value.trigger, LaunchTrigger)
    return deferred.value.trigger


def event_of(trigger: LaunchTrigger) -> dict[str, Any]:
    async def first() -> Any:
        return await anext(aiter(trigger.run()))

    return dict(asyncio.run(first()).payload)


def complete(state: TaskState, event: dict[str, Any]) -> Any:
    return operator().execute_complete(context(state), event)


def test_a_worker_killed_after_submitting_pays_for_no_second_job(run: RunStore, tmp_path: Path) -> None:
    plan(run, f"echo started >> {tmp_path}/starts; sleep 2")
    state = TaskState()
    first = execute(state)  # its worker dies here: Airflow never hears of the deferral
    second = execute(state)
    assert first.handle == second.handle
    assert complete(state, event_of(second))["submission"] == 1
    assert (tmp_path / "starts").read_text() == "started\n"
    (record,) = records_of(run, "baseline", 0)
    assert record.state is LaunchState.SUCCEEDED
    assert record.run_s >= 2


def test_a_worker_killed_before_recording_the_end_records_the_same_end(run: RunStore) -> None:
    plan(run, "true")
    state = TaskState()
    event_of(execute(state))  # the event is lost with its worker
    complete(state, event_of(execute(state)))
    assert [record.submission for record in records_of(run, "baseline", 0)] == [1]


def test_a_failure_is_typed_and_the_next_try_is_a_new_submission(run: RunStore) -> None:
    plan(run, "echo RuntimeError: boom; exit 3")
    state = TaskState()
    for submission in (1, 2):
        with pytest.raises(Exception, match=r"exit code job: 3.*boom"):
            complete(state, event_of(execute(state)))
        assert len(records_of(run, "baseline", 0)) == submission


def test_a_try_that_airflow_repeats_after_a_recorded_success_trains_nothing_again(run: RunStore) -> None:
    plan(run, "true")
    state = TaskState()
    first = complete(state, event_of(execute(state)))
    assert operator().execute(context(state)) == first
    assert len(records_of(run, "baseline", 0)) == 1


def test_a_job_that_fails_more_often_than_it_may_is_not_tried_again(run: RunStore) -> None:
    plan(run, "exit 3")
    state = TaskState()
    for failure in (TrainingFailed, TrainingFailed, RetriesExhausted):  # limits.retries is 2
        with pytest.raises(failure) as raised:
            complete(state, event_of(execute(state)))
        decision = retry_policy().evaluate(raised.value, try_number=1, max_tries=9)
        assert (decision.action.value == "fail") is (failure is RetriesExhausted)
    assert len(records_of(run, "baseline", 0)) == 3


def test_clearing_a_finished_task_trains_again_in_a_fresh_place(run: RunStore) -> None:
    plan(run, "true")
    state = TaskState()
    complete(state, event_of(execute(state)))
    complete(state, event_of(execute(state, max_tries=5)))
    assert [(r.submission, r.take) for r in records_of(run, "baseline", 0)] == [(1, 1), (2, 2)]


def test_a_job_that_runs_too_long_is_ended_and_says_which_limit_it_met(run: RunStore) -> None:
    plan(run, "sleep 600")
    trigger = execute(TaskState())
    trigger.run_timeout_s = 0.5
    status = LaunchStatus.model_validate(event_of(trigger)["status"])
    assert (status.state, status.failure) == (LaunchState.FAILED, FailureKind.DEADLINE)
    assert "limits.run_timeout_s" in str(status.reason)
    assert processes_of(str(trigger.handle["name"])) == []


def test_a_job_that_has_cost_what_it_may_is_ended(run: RunStore) -> None:
    price = Price(
        key="local-cpu", usd_per_accelerator_hour=3.6, source="test", date=date(2026, 1, 1), basis="list"
    )
    plan(run, "sleep 600", "budget: {per_run_usd: 0.001}\n", {"baseline": price})
    trigger = execute(TaskState())
    assert trigger.run_timeout_s == pytest.approx(1.0)  # 0.001 USD at 3.6 USD an hour
    status = LaunchStatus.model_validate(event_of(trigger)["status"])
    assert (status.state, status.failure) == (LaunchState.FAILED, FailureKind.DEADLINE)
    assert "budget.per_run_usd" in str(status.reason)


def test_a_clock_that_jumps_ends_no_job(run: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(run, "sleep 1")
    trigger = execute(TaskState())
    trigger.run_timeout_s = 60.0
    real = time.time
    looks = iter(range(10**6))
    monkeypatch.setattr(triggers.time, "time", lambda: real() + (86_400 if next(looks) else 0))
    status = LaunchStatus.model_validate(event_of(trigger)["status"])
    assert status.state is LaunchState.SUCCEEDED


def test_a_cleared_task_ends_its_job_and_trains_anew(run: RunStore) -> None:
    plan(run, "sleep 600")
    state = TaskState()
    trigger = execute(state)
    asyncio.run(trigger.on_kill())
    assert processes_of(str(trigger.handle["name"])) == []
    assert execute(state).intent["submission"] == 2
    assert [record.state for record in records_of(run, "baseline", 0)] == [LaunchState.CANCELLED]


def test_a_new_try_that_met_the_job_before_it_was_cancelled_trains_anew_too(run: RunStore) -> None:
    plan(run, "sleep 600")
    state = TaskState()
    cleared = execute(state)
    new_try = execute(state)
    asyncio.run(cleared.on_kill())
    with pytest.raises(TaskDeferred) as deferred:
        complete(state, event_of(new_try))
    assert isinstance(deferred.value.trigger, LaunchTrigger)
    assert deferred.value.trigger.intent["submission"] == 2


def test_a_job_that_somebody_cancelled_outside_airflow_fails_its_task(run: RunStore) -> None:
    plan(run, "sleep 600")
    state = TaskState()
    trigger = execute(state)
    os.kill(int(trigger.handle["details"]["pid"]), signal.SIGTERM)
    with pytest.raises(Cancelled):
        complete(state, event_of(trigger))


def test_a_supervisor_that_stops_cancels_every_launch(run: RunStore) -> None:
    plan(run, "sleep 600")
    name = str(execute(TaskState()).handle["name"])
    assert cancel_all(launches_folder()) == [name]
    assert processes_of(name) == []
    assert cancel_all(launches_folder()) == []


def test_a_task_killed_while_it_submits_cancels_what_it_started(run: RunStore) -> None:
    plan(run, "sleep 600")
    task = operator()
    with pytest.raises(TaskDeferred) as deferred:
        task.execute(context(TaskState()))
    task.on_kill()
    assert isinstance(deferred.value.trigger, LaunchTrigger)
    assert processes_of(str(deferred.value.trigger.handle["name"])) == []


def test_a_lost_jobs_orphans_are_ended_before_the_next_try(run: RunStore) -> None:
    plan(run, "sleep 600")
    state = TaskState()
    trigger = execute(state)
    os.kill(int(trigger.handle["details"]["pid"]), signal.SIGKILL)
    with pytest.raises(NodeLost):
        complete(state, event_of(trigger))
    assert processes_of(str(trigger.handle["name"])) == []


def test_a_trigger_survives_its_way_through_the_database(run: RunStore) -> None:
    plan(run, "true")
    trigger = execute(TaskState())
    path, arguments = trigger.serialize()
    assert path == "seedance_ops.orchestration.triggers.LaunchTrigger"
    assert event_of(LaunchTrigger(**arguments))["status"]["state"] == "succeeded"


@pytest.mark.parametrize(
    ("kind", "retried"),
    [
        (FailureKind.OUT_OF_MEMORY, False),
        (FailureKind.BAD_INPUT, False),
        (FailureKind.DEADLINE, False),
        (FailureKind.COMMUNICATION, True),
        (FailureKind.NODE_LOST, True),
        (FailureKind.STORAGE, True),
    ],
)
def test_what_a_retry_cannot_help_fails_at_once(kind: FailureKind, retried: bool) -> None:
    failure = failure_of(LaunchStatus(state=LaunchState.FAILED, failure=kind), "name")
    decision = retry_policy().evaluate(failure, try_number=1, max_tries=3)
    assert (decision.action.value == "retry") is retried
