"""A run started from the trigger form, whose triggerer is killed: it goes on, and its report can be read."""

from __future__ import annotations

import os
import signal

import httpx
import psutil
import pytest

from seedance_ops.launchers.base import LaunchState
from seedance_ops.orchestration.report_path import report_path
from tests.airflow_under_test import AirflowUnderTest
from tests.faults.test_killed_in_the_middle import JOB, STEPS, assert_every_step_stands_once, reach_step

pytestmark = pytest.mark.xdist_group("airflow")

DAG_ID = "restarted-triggerer"
K_RATIO = "variants.topk.gradient_compression.k_ratio"


@pytest.fixture(scope="module")
def run_id(airflow: AirflowUnderTest) -> str:
    """A run with a value from the form, whose triggerer was killed in the middle, after its end."""
    airflow.add_job(DAG_ID, JOB.format(name=DAG_ID, steps=STEPS))
    run_id = airflow.client.trigger(DAG_ID, {K_RATIO: 0.5})
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
        airflow.client.trigger(DAG_ID, {K_RATIO: 1.5})


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
