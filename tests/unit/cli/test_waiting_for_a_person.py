"""What a terminal shows while a run waits for a person."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from seedance_ops.cli.live import RunView, Snapshot
from seedance_ops.jobs.loader import load_job_text

PROJECT = Path(__file__).resolve().parents[3]
URL = "http://localhost:8080/dags/char-gpt/runs/r/tasks/approval/required_actions"
BEFORE = [
    "open_workspace",
    "plan",
    "check_environment",
    "train",
    "collect",
    "cost",
    "statistics",
    "quality_gate",
    "report",
]


def view(severity: str) -> RunView:
    job = yaml.safe_load((PROJECT / "include/jobs/char_gpt.yaml").read_text(encoding="utf-8"))
    job["gates"][0]["severity"] = severity
    loaded = load_job_text(yaml.safe_dump(job), Path("job.yaml"), project=None)
    return RunView(loaded.job, "r", Path("logs"), answer_at=URL)


def snapshot(state: str) -> Snapshot:
    task: dict[str, Any] = {"task_id": "approval", "state": state, "map_index": -1, "dag_id": "char-gpt"}
    return Snapshot([task], [])


def shown(view: RunView, now: Snapshot) -> str:
    output = io.StringIO()
    Console(file=output, width=300, force_terminal=False).print(view.render(now))
    return output.getvalue()


def test_a_waiting_run_says_once_where_and_by_when_to_answer() -> None:
    asking = view("approval")
    said = asking.news(snapshot("awaiting_input"))
    assert said is not None
    assert f"waiting for a person to answer within 24h: {URL}" in said
    assert asking.news(snapshot("awaiting_input")) is None
    assert URL in shown(asking, snapshot("awaiting_input"))


def test_an_answered_run_does_not_ask() -> None:
    assert URL not in shown(view("approval"), snapshot("success"))


@pytest.mark.parametrize(("severity", "there"), [("approval", True), ("error", False)])
def test_the_stage_is_shown_where_the_job_has_it(severity: str, *, there: bool) -> None:
    stages = shown(view(severity), Snapshot([], [])).splitlines()[1].replace("·", "").split()
    assert stages == [*BEFORE, *(["approval"] if there else []), "verdict"]
