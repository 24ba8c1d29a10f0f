"""A run that was cleared is judged by this pass alone, never by what an earlier one left in the store."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("airflow")

from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from seedance_ops.jobs.loader import load_job_text
from seedance_ops.jobs.manifest import RunManifest, plan_runs
from seedance_ops.jobs.profiles import LocalProfile
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.orchestration.build import build_dag
from seedance_ops.orchestration.operators.stage import STAGES
from seedance_ops.orchestration.operators.workspace import CloseWorkspaceOperator
from seedance_ops.quality.results import GateResults, Verdict
from seedance_ops.storage.config import StorageLocation

RUN_ID = "manual__2026-12-01T00:00:00+00:00"
JOB = """
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {name: cleared}
workload: {command: ["true"], runtime: none, launch: none}
launcher: {kind: local, price: local-cpu}
variants: {baseline: {}, other: {}}
repeats: {seeds: 3}
gates: [{metric: run_s, compared_to: baseline, change_at_most: {relative: 0.5}}]
"""


@pytest.fixture
def run(location: StorageLocation, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """A run whose earlier pass was accepted."""
    monkeypatch.setenv("SEEDANCE_STORAGE_URI", location.uri)
    monkeypatch.setenv("AIRFLOW_CONN_SEEDANCE_STORAGE", "aws://")
    job = load_job_text(JOB, Path("job.yaml"), project=None).job
    stored = RunStore(location, "cleared", RUN_ID)
    stored.write(
        "manifest.json",
        RunManifest(
            job=job,
            job_hash="a" * 64,
            source="job.yaml",
            run_id=RUN_ID,
            runs=plan_runs(job, RUN_ID),
            profiles={name: LocalProfile(kind="local", price="local-cpu") for name in job.variants},
            planned_at_s=time.time(),
        ),
    )
    stored.write_stamp({"job": "cleared"})
    verdicts = (Verdict(variant="other", outcome="accepted"),)
    stored.write("gates.json", GateResults(accept="any", accepted=True, verdicts=verdicts, gates=()))
    return stored


def dag_of(text: str) -> DAG:
    return build_dag(text, source="job.yaml", project="no-project")


def context(**states: str) -> Any:
    """An Airflow context in which the stages have succeeded, except as said."""
    known = dict.fromkeys(STAGES, "success") | states
    ti = SimpleNamespace(
        dag_id="cleared",
        get_task_states=lambda dag_id, task_ids, run_ids: {
            RUN_ID: {task: known[task] for task in task_ids if task in known}
        },
    )
    published = defaultdict(lambda: SimpleNamespace(add=lambda *_, **__: None))
    return {"run_id": RUN_ID, "ti": ti, "outlet_events": published}


def test_a_verdict_of_an_earlier_pass_accepts_nothing(run: RunStore) -> None:
    verdict = dag_of(JOB).get_task("verdict")
    assert verdict.execute(context()) == {"other": "accepted"}
    for stage in set(STAGES) - {"select"}:
        with pytest.raises(AirflowFailException, match=f"nothing to judge: {stage}: upstream_failed"):
            verdict.execute(context(**{stage: "upstream_failed"}))


def test_a_screening_that_failed_leaves_nothing_to_judge(run: RunStore) -> None:
    phased = JOB.replace("repeats: {seeds: 3}", "phases: {screen: {samples: 2}, confirm: {top: 1, seeds: 3}}")
    phased = phased.replace("runtime: none", "runtime: session, batch: {per_rank: 1}, stop: {samples: 4}")
    with pytest.raises(AirflowFailException, match="nothing to judge: select: failed"):
        dag_of(phased).get_task("verdict").execute(context(select="failed"))


def test_the_report_says_which_stage_failed_instead_of_showing_old_numbers(run: RunStore) -> None:
    dag_of(JOB).get_task("report").execute(context(cost="failed"))
    report = json.loads(run.text("report.json"))
    assert report["status"] != "judged"
    assert any("cost: failed" in problem for problem in report["problems"])
    assert report["verdicts"] == []


def test_a_run_that_somebody_ended_does_not_count_as_a_success(run: RunStore) -> None:
    closing = CloseWorkspaceOperator(task_id="close_workspace", job_name="cleared")
    closing.execute(context(verdict="running"))
    with pytest.raises(AirflowFailException, match="before its verdict"):
        closing.execute(context(verdict="skipped"))
