"""Run jobs in this one process: ``python -m tests.dags.run_shrunk PROJECT FILE…``; shipped ones shrunk."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import yaml
from airflow.sdk import DAG

from seedance_ops.orchestration.build import build_dag
from tests.dags.runs import seeds_of

PRICES = {
    "requests_usd_per_1000": {"put": {"usd": 0.005, "key": "put"}},
    "egress_usd_per_gb": {"usd": 0.09, "key": "egress"},
}


def shrunk(text: str) -> str:
    """Two variants, a seed or two, three steps of the largest batch on one rank; what it sends is priced."""
    job = yaml.safe_load(text)
    if job["kind"] != "TrainingJob":
        return text
    job["variants"] = dict(list(job["variants"].items())[:2])
    job["repeats"]["seeds"] = seeds_of(job["metadata"]["name"])
    job["accept"] = "report"
    job["resources"] = {"accelerators": "cpu:1"}
    job["prices"] = job.get("prices", {}) | PRICES
    job["params"] = [path for path in job.get("params", []) if not path.startswith("variants.")]
    if job["workload"].get("stop"):
        job["workload"]["stop"] = {"samples": 3 * largest_batch(job)}
        job["params"] = []
    return yaml.safe_dump(job, sort_keys=False)


def largest_batch(job: dict[str, Any]) -> int:
    changes = [variant.get("set", {}) for variant in job["variants"].values()]
    return max(
        [job["workload"]["batch"]["per_rank"], *(c.get("workload.batch.per_rank", 0) for c in changes)]
    )


def dag_of(file: Path, project: Path) -> DAG:
    if file.suffix == ".py":
        return runpy.run_path(str(file))["dag"]
    text = file.read_text(encoding="utf-8")
    return build_dag(
        shrunk(text) if "include/jobs" in file.as_posix() else text,
        source=file.relative_to(project).as_posix(),
        project=str(project),
    )


def main() -> None:
    project = Path(sys.argv[1])
    for file in map(Path, sys.argv[2:]):
        dag = dag_of(file, project)
        run = dag.test()
        states = {f"{ti.task_id}[{ti.map_index}]": str(ti.state) for ti in run.get_task_instances()}
        print(
            json.dumps({"dag_id": dag.dag_id, "run_id": run.run_id, "state": str(run.state), "tasks": states})
        )


if __name__ == "__main__":
    main()
