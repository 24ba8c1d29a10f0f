"""How much of a run's wall time no launched process is alive: what the pipeline around training costs.

    python benchmarks/pipeline.py [--quick] [--no-peer] [--json FILE]

Six launches of 95 s each through a real Airflow, from the run's start to its verdict. The peer is what
people write by hand in the same Airflow: six mapped ``BashOperator`` tasks in the same one-slot pool, with
no checks, tables, statistics, gates or report after them.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from contract import write_results
from rich.console import Console
from rich.table import Table

from seedance_ops.jobs.project import ProjectContext
from seedance_ops.launchers.workspace import Workspace
from seedance_ops.orchestration.client import AirflowClient, run_id_now
from seedance_ops.orchestration.embedded.components import EmbeddedAirflow
from seedance_ops.orchestration.embedded.settings import USER, keys_of

CHECKOUT = Path(__file__).resolve().parent.parent

JOB = """
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {{name: pipeline}}
workload:
  command: [sleep, "{seconds}"]
  workdir: examples
  runtime: none
  launch: none
launcher: local
resources: {{accelerators: "cpu:1"}}
variants: {{baseline: {{}}, other: {{}}}}
repeats: {{seeds: {seeds}}}
gates:
  - {{metric: run_s, compared_to: baseline, change_at_most: {{relative: 0.5}}}}
accept: report
"""

PEER = """
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG("peer", schedule=None):
    train = BashOperator.partial(task_id="train", pool="seedance-local")
    train.expand(bash_command=["sleep {seconds}"] * {launches})
"""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--quick", action="store_true", help="two launches of 3 s: shows that it works, no more"
    )
    options.add_argument("--no-peer", action="store_true", help="measure this pipeline alone")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    seconds, seeds = (3, 1) if chosen.quick else (95, 3)
    with tempfile.TemporaryDirectory(prefix="seedance-pipeline-") as folder:
        ours, peer = measure(Path(folder), seconds, seeds, with_peer=not (chosen.no_peer or chosen.quick))
    show(ours, peer, seconds, 2 * seeds)
    if chosen.json:
        write(chosen.json, ours, peer, 2 * seeds)
    return 0


def measure(folder: Path, seconds: int, seeds: int, *, with_peer: bool) -> tuple[float, float | None]:
    """The share for this pipeline, and for the peer."""
    project = ProjectContext(folder / "project")
    for part in ("include/catalog", "examples", "plugins"):
        shutil.copytree(CHECKOUT / part, project.root / part)
    for part in ("dags", "include/jobs"):
        (project.root / part).mkdir()
    (project.jobs_folder / "pipeline.yaml").write_text(JOB.format(seconds=seconds, seeds=seeds))
    (project.root / "dags/peer.py").write_text(PEER.format(seconds=seconds, launches=2 * seeds))
    airflow = EmbeddedAirflow(folder / "home", project)
    try:
        running = airflow.start(lambda what: print(f"starting {what} …", file=sys.stderr))
        client = AirflowClient(running.url, USER, keys_of(folder / "home").password)
        began_s, ended_s = run(client, "pipeline")
        alive_s = sum(launch_seconds(folder / "home/launches"))
        ours = 1 - alive_s / (ended_s - began_s)
        if not with_peer:
            return ours, None
        began_s, ended_s = run(client, "peer")
        return ours, 1 - 2 * seeds * seconds / (ended_s - began_s)
    finally:
        airflow.stop()


def run(client: AirflowClient, dag_id: str) -> tuple[float, float]:
    """Run a DAG to its end; returns when it was triggered and when it ended (Unix time)."""
    while client.source(dag_id) is None:
        time.sleep(0.5)
    client.pause(dag_id, paused=False)
    began_s = time.time()
    run_id = run_id_now()
    client.trigger(dag_id, run_id, {})
    while (state := client.run_state(dag_id, run_id)) not in ("success", "failed"):
        time.sleep(1)
    tasks = client.task_instances(dag_id, run_id)
    if state == "failed":
        raise SystemExit(f"{dag_id} failed: {[(task['task_id'], task['state']) for task in tasks]}")
    return began_s, max(datetime.fromisoformat(task["end_date"]).timestamp() for task in tasks)


def launch_seconds(root: Path) -> list[float]:
    """How long each launch's process lived."""
    lives = []
    for folder in root.glob("*"):
        started, ended = Workspace(folder).started(), Workspace(folder).ended()
        if started and ended:
            lives.append(ended.ended_at_s - started.started_at_s)
    return lives


def show(ours: float, peer: float | None, seconds: int, launches: int) -> None:
    table = Table(title=f"wall time without a launched process, {launches} launches of {seconds} s")
    for column in ("", "share", "seconds a launch"):
        table.add_column(column, justify="right")
    for name, share in (("this pipeline", ours), ("mapped BashOperator", peer)):
        if share is not None:
            table.add_row(name, f"{share:.1%}", f"{share / (1 - share) * seconds:.1f}")
    Console().print(table)


def write(file: Path, ours: float, peer: float | None, launches: int) -> None:
    result = {
        "metric": "not_training_share",
        "unit": "share of wall time",
        "ours": ours,
        "peers": {} if peer is None else {"bash_operator": peer},
        "ratio_to_best_peer": None if peer is None else ours / peer,
        "spread": None,  # one run: the launches within it share its start and end
        "n": launches,
    }
    write_results(file, "pipeline", [result])


if __name__ == "__main__":
    sys.exit(main())
