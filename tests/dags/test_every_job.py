"""Every job that ships parses cheaply, is shaped as documented, and runs to its report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.orchestration.embedded.settings import bundle_folder, environment
from seedance_ops.orchestration.job_files import JobFiles
from seedance_ops.planning.history import History
from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.server import StoreRecord

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PROJECT = ProjectContext(CHECKOUT)
JOBS = PROJECT.job_files()
AUDITS = [file for file in JOBS if "kind: Audit" in file.read_text(encoding="utf-8")]
PHASED = CHECKOUT / "tests/dags/jobs/phased.yaml"
BREAKS = CHECKOUT / "tests/dags/jobs/one_variant_breaks.yaml"
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
def home(tmp_path_factory: pytest.TempPathFactory, store_server: StoreRecord) -> dict[str, str]:
    """The environment of a prepared Airflow home."""
    folder = tmp_path_factory.mktemp("airflow-home")
    variables = environment(folder, CHECKOUT, ("127.0.0.1", 1), store_server.environment())
    for file in (PHASED, BREAKS):
        JobFiles(PROJECT, bundle_folder(folder)).watch(file)
    subprocess.run(
        [sys.executable, "-m", "seedance_ops.orchestration.embedded.prepare", str(CHECKOUT)],
        env=variables,
        check=True,
        capture_output=True,
    )
    return variables


def last_lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"dag_id"')]


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
    """Every shipped job, one in phases (twice) and one that breaks, run to the end in one process."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.dags.run_shrunk",
            str(CHECKOUT),
            *map(str, [*JOBS, CHECKOUT / "dags/drift.py", PHASED, PHASED, BREAKS]),
        ],
        env=home | {"PYTHONPATH": str(CHECKOUT)},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert store_server.secret_key not in done.stdout + done.stderr
    return last_lines(done)


@pytest.fixture
def base(store_server: StoreRecord, store_environment: dict[str, str]) -> StorageLocation:
    """Where the runs of ``runs`` are kept."""
    return StorageLocation(
        uri="s3://seedance/runs", endpoint_url=store_server.endpoint_url, region="us-east-1"
    )


def test_every_job_runs_to_its_report(runs: list[dict[str, Any]], base: StorageLocation) -> None:
    assert {run["dag_id"]: run["state"] for run in runs} == {run["dag_id"]: "success" for run in runs}
    assert len(runs) == len(JOBS) + 4
    audits = {file.stem.replace("_", "-") for file in AUDITS}
    for run in runs[:-3]:
        if run["dag_id"] in {*audits, "seedance-drift"}:
            continue
        stored = RunStore(base, run["dag_id"], run["run_id"])
        report = json.loads(stored.text("report.json"))
        assert len(stored.frame("runs")) == 4
        # Two seeds allow no judgement, and an unjudged variant is never accepted.
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


def test_a_broken_variant_fails_alone_and_the_report_says_what_is_missing(
    runs: list[dict[str, Any]], base: StorageLocation
) -> None:
    run = runs[-1]
    trainings = [state for task, state in run["tasks"].items() if task.startswith("train.")]
    assert sorted(trainings) == ["failed"] * 3 + ["success"] * 6
    stored = RunStore(base, run["dag_id"], run["run_id"])
    report = json.loads(stored.text("report.json"))
    verdicts = {verdict["variant"]: verdict["outcome"] for verdict in report["verdicts"]}
    assert verdicts == {"sound": "accepted", "broken": "not_judgeable"}
    assert {(gone["variant"], gone["seed"]) for gone in report["missing"]} == {
        ("broken", s) for s in range(3)
    }
    assert all("exit code" in gone["reason"] for gone in report["missing"])


def trainings_of(run: dict[str, Any]) -> dict[str, int]:
    """How many trainings of each phase were launched."""
    states = [task.partition("[")[0] for task, state in run["tasks"].items() if state == "success"]
    return {phase: states.count(phase) for phase in ("screen", "train")}


def test_a_screening_decides_what_is_trained_in_full(
    runs: list[dict[str, Any]], base: StorageLocation
) -> None:
    run = next(run for run in runs if run["dag_id"] == "phased")
    assert trainings_of(run) == {"screen": 3, "train": 2}
    stored = RunStore(base, "phased", run["run_id"])
    screening = stored.screening()
    assert screening is not None
    stopped = [row.variant for row in screening.variants if not row.confirmed]
    assert stopped == ["wide"], "512 columns are slower than 16 or 32"
    assert sorted(stored.frame("runs")["seed"]) == [0, 0]
    report = json.loads(stored.text("report.json"))
    assert "wide stopped by the screening" in report["headline"]
    paid = stored.frame("ledger")["cost_usd"].sum() + stored.frame("screening_ledger")["cost_usd"].sum()
    assert report["study"]["usd"] == pytest.approx(paid)


def test_the_next_run_reuses_the_baseline_and_pays_only_for_what_it_trained(
    runs: list[dict[str, Any]], base: StorageLocation
) -> None:
    first, second = (run for run in runs if run["dag_id"] == "phased")
    assert trainings_of(second) == {"screen": 3, "train": 1}
    stored, earlier = (RunStore(base, "phased", run["run_id"]) for run in (second, first))
    report = json.loads(stored.text("report.json"))
    assert report["reused"]["baseline"]["run_id"] == first["run_id"]
    assert any(f"those of run {first['run_id']}" in limit for limit in report["limits"])
    ours, theirs = (
        run.frame("runs").set_index("variant").loc["baseline", ["val_loss", "run_s"]].tolist()
        for run in (stored, earlier)
    )
    assert ours == theirs
    trained = stored.frame("costs").set_index("variant")["usd_per_run"].drop("baseline").sum()
    screening = stored.screening()
    assert screening is not None
    assert report["study"]["usd"] == pytest.approx(trained + screening.usd)
    assert History(base, "phased").records()[-1].reused == ("baseline",)


def test_the_runs_of_a_block_follow_each_other_on_the_same_nodes(
    runs: list[dict[str, Any]], base: StorageLocation
) -> None:
    stored = RunStore(base, runs[-1]["dag_id"], runs[-1]["run_id"])
    launches = stored.frame("launches").sort_values("order")
    for _, block in launches.groupby("seed"):
        assert len(block) == 3
        assert block["nodes"].nunique() == 1
        assert block["started_at_s"].is_monotonic_increasing
        assert (block["started_at_s"].to_numpy()[1:] >= block["ended_at_s"].to_numpy()[:-1]).all()
