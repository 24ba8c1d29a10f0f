"""What a person sees while a run goes on: stages, variants × seeds, steps, time left."""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from seedance_ops.jobs.loader import Job
from seedance_ops.jobs.manifest import PlannedRun, plan_runs
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.launchers.running import RunningLaunch

STAGES = (
    "open_workspace",
    "plan",
    "check_environment",
    "train",
    "collect",
    "cost",
    "statistics",
    "quality_gate",
    "report",
    "verdict",
)
_WITH_PHASES = {"train": ("screen", "select", "train")}
_WITH_APPROVAL = {"verdict": ("approval", "verdict")}
AUDIT_STAGES = ("plan", "recompute", "quality_gate", "report", "verdict")
_MARKS = {"success": ("✓", "green"), "failed": ("✗", "red"), "upstream_failed": ("✗", "red")}
_ASKING = "awaiting_input"
_LONGEST_REASON = 600
_ACTIVE = {"running", "deferred", "queued", "scheduled", "up_for_retry", _ASKING}


@dataclass(frozen=True)
class Snapshot:
    """What Airflow and the launches' folders say at one moment."""

    tasks: list[dict[str, Any]]
    launches: list[RunningLaunch]


class RunView:
    """Turns snapshots into a picture for a terminal, or into lines for a log.

    Args:
        job: The job with this run's overrides.
        run_id: Airflow's.
        logs: Airflow's folder of logs.
        answer_at: Where a person answers what the run asks.
    """

    def __init__(self, job: Job, run_id: str, logs: Path, *, answer_at: str = "Airflow") -> None:
        self._answer_at = answer_at
        self._job = job
        self._stages_shown = _stages_of(job)
        self._planned = plan_runs(job, run_id) if isinstance(job, TrainingJob) else ()
        self._in_order = isinstance(job, TrainingJob) and not job.phases and job.repeats.block == "none"
        self._began_s = time.monotonic()
        self._said: set[str] = set()
        self._run_id = run_id
        self._logs = logs

    def render(self, now: Snapshot) -> RenderableType:
        """The whole picture."""
        grid = [self._grid(self._job, now)] if isinstance(self._job, TrainingJob) else []
        asking = [Text(self._question(), style="bold yellow")] if _is_asking(now) else []
        return Group(self._title(now), self._stages(now), *grid, *self._current(now), *asking)

    def news(self, now: Snapshot) -> str | None:
        """What has ended since the last call, as lines; None where nothing has."""
        lines = []
        for task in now.tasks:
            ended = task["state"] in ("success", "failed", "upstream_failed")
            label = task.get("rendered_map_index") or (task["map_index"] if task["map_index"] >= 0 else "")
            line = f"{task['task_id']} {label}: {task['state']}".replace(" :", ":")
            if ended and line not in self._said:
                self._said.add(line)
                lines.append(f"[{_clock(time.monotonic() - self._began_s)}] {line}")
                if task["state"] == "failed":
                    folder = self._log_folder(task)
                    lines += [f"       {reason}" for reason in [reason_in(folder)] if reason]
                    lines.append(f"       log: {folder}")
        if _is_asking(now) and self._question() not in self._said:
            self._said.add(self._question())
            lines.append(f"[{_clock(time.monotonic() - self._began_s)}] {self._question()}")
        return "\n".join(lines) or None

    def _question(self) -> str:
        until = ""
        if isinstance(self._job, TrainingJob):
            until = f" within {self._job.approval.deadline}"
        return f"waiting for a person to answer{until}: {self._answer_at}"

    def _log_folder(self, task: dict[str, Any]) -> Path:
        folder = self._logs / f"dag_id={task['dag_id']}/run_id={self._run_id}/task_id={task['task_id']}"
        return folder / f"map_index={task['map_index']}" if task["map_index"] >= 0 else folder

    def _title(self, now: Snapshot) -> Text:
        left = self._seconds_left(now)
        text = Text.assemble((f"{self._job.metadata.name}  ", "bold"), (self._run_id, "dim"))
        text.append(f"   {_clock(time.monotonic() - self._began_s)} elapsed")
        return text.append(f", about {_clock(left)} of training left") if left else text

    def _stages(self, now: Snapshot) -> Text:
        states: dict[str, Counter[str]] = {stage: Counter() for stage in self._stages_shown}
        for task in now.tasks:
            if (stage := _stage_of(task)) in states:
                states[stage][task["state"] or "none"] += 1
        text = Text()
        for stage, counts in states.items():
            mark, style = _stage_mark(counts)
            text.append(f"{mark} {stage}  ", style=style)
        return text

    def _grid(self, job: TrainingJob, now: Snapshot) -> Table:
        states = self._training_states(now)
        table = Table(box=None, padding=(0, 1))
        table.add_column("")
        for seed in job.repeats.seed_values:
            table.add_column(f"seed {seed}", justify="center")
        for variant in job.variants:
            cells = [_cell(states.get((variant, seed))) for seed in job.repeats.seed_values]
            table.add_row(variant, *cells)
        return table

    def _current(self, now: Snapshot) -> list[RenderableType]:
        rows: list[RenderableType] = []
        for launch in now.launches:
            row = Table.grid(padding=(0, 1))
            progress = launch.progress
            label = f"{launch.variant} seed {launch.seed}"
            if progress and progress.total_steps:
                bar = ProgressBar(total=progress.total_steps, completed=progress.step, width=40)
                row.add_row(label, bar, f"step {progress.step}/{progress.total_steps}")
            else:
                row.add_row(
                    label, Text(f"starting, {_clock(time.time() - launch.started_at_s)}", style="dim")
                )
            rows.append(row)
        return rows

    def _training_states(self, now: Snapshot) -> dict[tuple[str, int], str]:
        """By the label that Airflow gives a task once it runs, else by its place in the plan.

        After a screening the places are not known here.
        """
        by_index = dict(enumerate(self._planned)) if self._in_order else {}
        by_label = {f"{planned.variant} seed {planned.seed}": planned for planned in self._planned}
        return {
            (planned.variant, planned.seed): task["state"] or "none"
            for task in now.tasks
            if _stage_of(task) == "train"
            and (
                planned := by_label.get(task.get("rendered_map_index") or "")
                or by_index.get(task["map_index"])
            )
        }

    def _seconds_left(self, now: Snapshot) -> float | None:
        """From the pace of the trainings that have ended, set-up between them included.

        Not known where a screening decides how many there will be.
        """
        if isinstance(self._job, TrainingJob) and self._job.phases:
            return None
        ended = [task for task in now.tasks if _stage_of(task) == "train" and task["state"] == "success"]
        times = sorted(datetime.fromisoformat(task["end_date"]).timestamp() for task in ended)
        gaps = [later - earlier for earlier, later in pairwise(times)]
        if not gaps:
            return None
        states = self._training_states(now)
        open_runs = sum(_is_open(planned, states) for planned in self._planned)
        since = time.time() - times[-1]
        return max(0.0, open_runs * statistics.median(gaps) - since)


def _stage_of(task: dict[str, Any]) -> str:
    """Its task's id, or its group's where the trainings are in blocks."""
    return str(task["task_id"]).partition(".")[0]


def reason_in(folder: Path) -> str | None:
    """What a failed task raised last, by its newest log; none where that cannot be read."""
    logs = sorted(folder.glob("attempt=*.log"), key=lambda path: path.stat().st_mtime)
    if not logs:
        return None
    for line in reversed(logs[-1].read_text(encoding="utf-8", errors="replace").splitlines()):
        if '"error_detail"' not in line:
            continue
        try:
            raised = json.loads(line)["error_detail"][0]
            return str(raised["exc_value"])[:_LONGEST_REASON]
        except (ValueError, LookupError, TypeError):
            return None
    return None


def _stages_of(job: Job) -> tuple[str, ...]:
    if not isinstance(job, TrainingJob):
        return AUDIT_STAGES
    others = {**(_WITH_PHASES if job.phases else {}), **(_WITH_APPROVAL if job.asks_a_person else {})}
    return tuple(shown for stage in STAGES for shown in others.get(stage, (stage,)))


def _is_asking(now: Snapshot) -> bool:
    return any(task["state"] == _ASKING for task in now.tasks)


def _is_open(planned: PlannedRun, states: dict[tuple[str, int], str]) -> bool:
    return states.get((planned.variant, planned.seed)) not in ("success", "failed", "upstream_failed")


def _stage_mark(counts: Counter[str]) -> tuple[str, str]:
    for state in ("failed", "upstream_failed"):
        if counts[state]:
            return _MARKS[state]
    if any(counts[state] for state in _ACTIVE):
        return "●", "yellow"
    return _MARKS["success"] if counts["success"] else ("·", "dim")


def _cell(state: str | None) -> Text:
    if state in _MARKS:
        mark, style = _MARKS[state]
        return Text(mark, style=style)
    if state in ("running", "deferred"):
        return Text("●", style="yellow")
    return Text("↻", style="yellow") if state == "up_for_retry" else Text("·", style="dim")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    return f"{minutes}:{rest:02d}"
