"""Every job that ships parses cheaply, is shaped as documented, and runs to its report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.orchestration.embedded.settings import environment
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.server import StoreRecord

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PROJECT = ProjectContext(CHECKOUT)
JOBS = PROJECT.job_files()
HEAVY = ("torch", "great_expectations", "boto3", "botocore", "pandas", "scipy", "pyarrow", "matplotlib")

PARSE = """
import json, sys
HEAVY = sys.argv[3:]
from pathlib import Path
from seedance_ops.orchestration.build import build_dag
file, project = Path(sys.argv[1]), sys.argv[2]
dag = build_dag(file.read_text(), source=str(file.relative_to(project)), project=project)
teardowns = [task.task_id for task in dag.tasks if task.is_teardown]
leaves = [t.task_id for t in dag.tasks if not (t.downstream_task_ids - set(teardowns)) and not t.is_teardown]
print(json.dumps({
    "dag_id": dag.dag_id, "heavy": [name for name in HEAVY if name in sys.modules], "leaves": leaves,
    "teardowns": teardowns, "params": {key: dag.params[key] for key in dag.params},
    "pool": dag.get_task("train").pool, "retries": dag.get_task("train").retries,
}))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, store_server: StoreRecord) -> dict[str, str]:
    """The environment of a prepared Airflow home."""
    folder = tmp_path_factory.mktemp("airflow-home")
    variables = environment(folder, CHECKOUT, ("127.0.0.1", 1), store_server.environment())
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


@pytest.mark.parametrize("file", JOBS, ids=lambda file: file.stem)
def test_parsing_imports_nothing_heavy_and_gives_the_documented_shape(
    file: Path, home: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARSE, str(file), str(CHECKOUT), *HEAVY],
        env=home,
        capture_output=True,
        text=True,
        check=False,
    )
    (dag,) = last_lines(done)
    assert dag["heavy"] == []
    assert dag["leaves"] == ["verdict"]
    assert dag["teardowns"] == ["close_workspace"]
    assert dag["pool"] == "seedance-local"


def test_every_job_runs_to_its_report(home: dict[str, str], store_server: StoreRecord) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.dags.run_shrunk", str(CHECKOUT), *map(str, JOBS)],
        env=home | {"PYTHONPATH": str(CHECKOUT)},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    runs = last_lines(done)
    assert {run["dag_id"]: run["state"] for run in runs} == {run["dag_id"]: "success" for run in runs}
    assert len(runs) == len(JOBS)
    os.environ.update(store_server.environment())
    base = StorageLocation(
        uri="s3://seedance/runs", endpoint_url=store_server.endpoint_url, region="us-east-1"
    )
    for run in runs:
        stored = RunStore(base, run["dag_id"], run["run_id"])
        report = json.loads(stored.text("report.json"))
        assert len(stored.frame("runs")) == 4
        # Two seeds allow no judgement, and an unjudged variant is never accepted.
        outcomes = {verdict["outcome"] for verdict in json.loads(stored.text("gates.json"))["verdicts"]}
        assert outcomes == {"not_judgeable"}
        assert report["stamp"]["job_hash"] == stored.manifest().job_hash
        secret = store_server.secret_key
        assert secret not in done.stdout + done.stderr + stored.text("report.html") + stored.text(
            "report.json"
        )
