"""Every job that ships parses cheaply, is shaped as documented, and runs to its report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from seedance_ops.jobs.run_store import RunStore
from seedance_ops.planning.history import History
from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.server import StoreRecord
from tests.dags.runs import CHECKOUT, PROJECT, last_lines, run_all, seeds_of

JOBS = PROJECT.job_files()
AUDITS = [file for file in JOBS if "kind: Audit" in file.read_text(encoding="utf-8")]
HEAVY = ("torch", "great_expectations", "boto3", "botocore", "pandas", "scipy", "pyarrow", "matplotlib")

PARSE = """
import json, sys
from pathlib import Path
from seedance_ops.orchestration.build import build_dag
project, heavy, *files = sys.argv[1:]
for file in map(Path, files):
    dag = build_dag(file.read_text(), source=str(file.relative_to(project)), project=project)
    downs = {task.task_id for task in dag.tasks if task.is_teardown}
    leaves = [t.task_id for t in dag.tasks if not t.is_teardown and not t.downstream_task_ids - downs]
    print(json.dumps({
        "dag_id": dag.dag_id, "file": str(file), "leaves": leaves, "teardowns": sorted(downs),
        "heavy": [name for name in heavy.split() if name in sys.modules],
        "pools": sorted({task.pool for task in dag.tasks if task.task_id == "train"}),
    }))
"""


@pytest.fixture(scope="module")
def parsed(home: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Every job's DAG in short, by file, as one fresh process parses them."""
    done = subprocess.run(
        [sys.executable, "-c", PARSE, str(CHECKOUT), " ".join(HEAVY), *map(str, JOBS)],
        env=home,
        capture_output=True,
        text=True,
        check=False,
    )
    return {dag["file"]: dag for dag in last_lines(done)}


@pytest.mark.parametrize("file", JOBS, ids=lambda file: file.stem)
def test_parsing_imports_nothing_heavy_and_gives_the_documented_shape(
    file: Path, parsed: dict[str, dict[str, Any]]
) -> None:
    dag = parsed[str(file)]
    assert dag["heavy"] == []
    assert dag["leaves"] == ["verdict"]
    trains = file not in AUDITS
    assert dag["teardowns"] == (["close_workspace"] if trains else [])
    assert dag["pools"] == (["seedance-local"] if trains else [])


@pytest.fixture(scope="module")
def runs(home: dict[str, str], store_server: StoreRecord) -> list[dict[str, Any]]:
    """Every shipped job, run to the end in one process, and then the search for drift."""
    return run_all([*JOBS, CHECKOUT / "dags/drift.py"], home, store_server)


def test_every_job_runs_to_its_report(runs: list[dict[str, Any]], base: StorageLocation) -> None:
    assert {run["dag_id"]: run["state"] for run in runs} == {run["dag_id"]: "success" for run in runs}
    assert len(runs) == len(JOBS) + 1
    audits = {file.stem.replace("_", "-") for file in AUDITS}
    for run in runs:
        if run["dag_id"] in {*audits, "seedance-drift"}:
            continue
        stored = RunStore(base, run["dag_id"], run["run_id"])
        report = json.loads(stored.text("report.json"))
        assert len(stored.frame("runs")) == 2 * seeds_of(run["dag_id"])
        # So few seeds allow no judgement, and an unjudged variant is never accepted.
        outcomes = {verdict["outcome"] for verdict in json.loads(stored.text("gates.json"))["verdicts"]}
        assert outcomes == {"not_judgeable"}
        assert report["stamp"]["job_hash"] == stored.manifest().job_hash


def test_what_a_job_sent_to_the_store_is_in_its_bill(
    runs: list[dict[str, Any]], base: StorageLocation
) -> None:
    run = next(run for run in runs if run["dag_id"] == "char-gpt")
    stored = RunStore(base, run["dag_id"], run["run_id"])
    ledger = stored.frame("ledger").groupby("component")["quantity"].sum()
    # Operators write what is below _run and launches; a rank's last part tells of no request of its own.
    kept = [key for key in stored.objects.list() if not key.startswith("_run/") and "/launches/" not in key]
    last = [key for key in kept if "/usage/" in key]
    told = [key for key in kept if key not in last]
    sent = sum(len(stored.objects.get(key)) for key in told)
    assert len(told) > 4 * 3
    assert len(told) <= 1000 * ledger["requests"] < 10 * len(kept)
    assert sent <= 1e9 * ledger["egress"] < 3 * sent
    lines = {line["label"] for line in json.loads(stored.text("report.json"))["bill"]["lines"]}
    assert {"requests (put)", "requests while saving (put)", "egress while saving"} <= lines


def test_the_audit_reports_what_contradicts_itself(runs: list[dict[str, Any]], base: StorageLocation) -> None:
    run = next(run for run in runs if run["dag_id"] == "audit-seedance")
    stored = RunStore(base, run["dag_id"], run["run_id"])
    report = json.loads(stored.text("report.json"))
    assert report["verdict"]["outcome"] == "contradicts_itself"
    assert {"anova-a-b", "tco-unit", "calibration"} <= set(report["verdict"]["failed"])
    assert "-82.0 %" in stored.text("report.html")


def test_every_judged_run_has_left_a_record_in_which_drift_was_looked_for(
    runs: list[dict[str, Any]], base: StorageLocation
) -> None:
    (record,) = History(base, "char-gpt").records()
    assert record.run_id == next(run["run_id"] for run in runs if run["dag_id"] == "char-gpt")
    assert len(record.values("baseline", "usd_per_run")) == 2
    report = json.loads(ObjectStore(base.child("_drift")).get("char-gpt.json"))
    assert (report["job"], report["runs"]) == ("char-gpt", 1)
