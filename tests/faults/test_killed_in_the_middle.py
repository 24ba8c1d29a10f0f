"""Kill the training, the store, the triggerer, the run: it ends right, nothing is lost or trained twice."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter

import httpx
import psutil
import pytest

from seedance_ops.launchers.base import LaunchState
from seedance_ops.launchers.processes import processes_of
from seedance_ops.orchestration.report_path import report_path
from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.metrics.reading import read_steps
from tests.airflow_under_test import AirflowUnderTest, until

STEPS = 60
JOB = """
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {{name: {name}, owner: tests}}
workload:
  entrypoint: examples/char_gpt.py
  args: {{layers: 2, width: 96, context: 96}}
  env: {{OMP_NUM_THREADS: "1"}}
  batch: {{per_rank: 8}}
  stop: {{steps: {steps}}}
  quality: {{metric: val_loss, better: lower}}
launcher: local
resources: {{accelerators: "cpu:2"}}
variants:
  topk:
    gradient_compression: {{algorithm: topk_error_feedback, k_ratio: 0.01}}
repeats: {{seeds: 1}}
checkpoint: {{interval_steps: 10}}
accept: report
params: [variants.topk.gradient_compression.k_ratio]
"""


def start(airflow: AirflowUnderTest, name: str) -> tuple[str, str]:
    airflow.add_job(name, JOB.format(name=name, steps=STEPS))
    return name, airflow.trigger(name)


def reach_step(airflow: AirflowUnderTest, dag_id: str, run_id: str, step: int) -> str:
    """Wait until the training is past a step; returns the launch's name."""

    def there() -> str | None:
        for launch in airflow.launches(dag_id, run_id):
            if launch.progress and launch.progress.step >= step:
                return launch.name
        return None

    return str(until(there, 300))


def newest_checkpoint(airflow: AirflowUnderTest, dag_id: str, run_id: str) -> int:
    """The step of the newest one that is committed in the object store; 0 where there is none."""
    store = ObjectStore(airflow.run_store(dag_id, run_id).training("topk", 0, 1))
    manifests = [re.search(r"step-(\d+)/.*manifest", key) for key in store.list("checkpoints/")]
    return max((int(found[1]) for found in manifests if found), default=0)


def assert_every_step_stands_once(airflow: AirflowUnderTest, dag_id: str, run_id: str) -> None:
    location = airflow.run_store(dag_id, run_id).training("topk", 0, 1)
    steps = read_steps(ObjectStore(location)).to_pydict()
    seen = Counter(zip(steps["rank"], steps["step"], strict=True))
    assert seen == Counter({(rank, step): 1 for rank in (0, 1) for step in range(1, STEPS + 1)})


def test_a_killed_training_resumes_from_its_checkpoint(airflow: AirflowUnderTest) -> None:
    dag_id, run_id = start(airflow, "killed-training")
    name = reach_step(airflow, dag_id, run_id, 15)
    until(lambda: newest_checkpoint(airflow, dag_id, run_id) >= 10 or None, 300)
    for process in processes_of(name):
        process.kill()
    committed = newest_checkpoint(airflow, dag_id, run_id)

    assert airflow.wait(dag_id, run_id) == "success"

    first, second = airflow.records(dag_id, run_id, "topk")
    assert (first.state, second.state) == (LaunchState.LOST, LaunchState.SUCCEEDED)
    assert first.name == name != second.name
    assert_every_step_stands_once(airflow, dag_id, run_id)
    location = airflow.run_store(dag_id, run_id).training("topk", 0, 1)
    again = read_steps(ObjectStore(location)).to_pydict()
    resumed_at = min(
        step for step, number in zip(again["step"], again["submission"], strict=True) if number == 2
    )
    assert resumed_at > committed  # a newer one may lie on the node


def test_a_killed_store_comes_back_and_nothing_is_lost(airflow: AirflowUnderTest) -> None:
    dag_id, run_id = start(airflow, "killed-store")
    reach_step(airflow, dag_id, run_id, 15)
    assert airflow.embedded.store is not None
    record = airflow.embedded.store.running()
    assert record is not None
    assert record.pid is not None
    os.kill(record.pid, signal.SIGKILL)

    assert airflow.wait(dag_id, run_id) == "success"

    assert [record.state for record in airflow.records(dag_id, run_id, "topk")][-1] is LaunchState.SUCCEEDED
    assert_every_step_stands_once(airflow, dag_id, run_id)


def test_a_user_who_fails_the_run_leaves_no_process(airflow: AirflowUnderTest) -> None:
    dag_id, run_id = start(airflow, "failed-by-user")
    name = reach_step(airflow, dag_id, run_id, 5)
    airflow.client.fail_run(dag_id, run_id)
    until(lambda: not processes_of(name))
    assert airflow.wait(dag_id, run_id) == "failed"
    assert airflow.launches(dag_id, run_id) == []


DAG_ID = "restarted-triggerer"
K_RATIO = "variants.topk.gradient_compression.k_ratio"


@pytest.fixture(scope="module")
def run_id(airflow: AirflowUnderTest) -> str:
    """A run with a value from the form, whose triggerer was killed in the middle, after its end."""
    airflow.add_job(DAG_ID, JOB.format(name=DAG_ID, steps=STEPS))
    run_id = airflow.trigger(DAG_ID, {K_RATIO: 0.5})
    reach_step(airflow, DAG_ID, run_id, 5)
    triggerer = next(
        process
        for process in psutil.process_iter(["cmdline", "environ"])
        if "triggerer" in (process.info["cmdline"] or [])
        and (process.info["environ"] or {}).get("AIRFLOW_HOME") == str(airflow.home)
    )
    os.killpg(triggerer.pid, signal.SIGKILL)
    assert airflow.wait(DAG_ID, run_id) == "success"
    return run_id


def test_a_restarted_triggerer_neither_cancels_nor_doubles_the_training(
    airflow: AirflowUnderTest, run_id: str
) -> None:
    (only,) = airflow.records(DAG_ID, run_id, "topk")
    assert only.state is LaunchState.SUCCEEDED
    assert_every_step_stands_once(airflow, DAG_ID, run_id)


def test_a_value_from_the_form_changes_this_run_alone(airflow: AirflowUnderTest, run_id: str) -> None:
    manifest = airflow.run_store(DAG_ID, run_id).manifest()
    assert manifest.overrides == {K_RATIO: 0.5}
    assert manifest.job.resolve("topk").compression.k_ratio == 0.5
    with pytest.raises(Exception, match="k_ratio"):
        airflow.trigger(DAG_ID, {K_RATIO: 1.5})


def test_the_report_is_read_by_who_may_and_runs_nothing_foreign(
    airflow: AirflowUnderTest, run_id: str
) -> None:
    page = airflow.running.url + report_path(DAG_ID, run_id)
    assert httpx.get(page).status_code == 401
    shown = httpx.get(page, headers=airflow.client.authorization)
    assert shown.status_code == 200
    assert DAG_ID in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]


def test_no_secret_reaches_a_log_an_xcom_or_the_report(airflow: AirflowUnderTest, run_id: str) -> None:
    assert airflow.embedded.store is not None
    record = airflow.embedded.store.read()
    assert record is not None
    secret = record.secret_key.encode()
    run = airflow.run_store(DAG_ID, run_id)
    database = (airflow.home / "airflow.db").read_bytes()
    logs = [path.read_bytes() for path in (airflow.home / "logs").rglob("*") if path.is_file()]
    launches = [path.read_bytes() for path in (airflow.home / "launches").rglob("*") if path.is_file()]
    stored = [run.objects.get(key) for key in run.objects.list()]
    assert len(logs) > 10
    assert len(stored) > 10
    assert not any(secret in content for content in [database, *logs, *launches, *stored])
