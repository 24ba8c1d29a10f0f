"""Kills the saver again and again, and looks what was lost, what is wrong, and what is left lying about."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.node_folders import node_folders
from seedance_ops.training.plan import LaunchPlan
from tests.small_plan import small_plan

SAVER = Path(__file__).with_name("saver.py")
STEPS = 1_000_000
"""No process gets so far before it is killed."""
LONGEST_LIFE_S = 1.0
BOUNDARIES = 160
"""As many calls as a process makes in about as long."""
RUN_KILLS = 60
"""A new run after so many, since each start leaves an object behind that forbids the one before to commit."""
_START = """
import os, runpy, sys, torch
log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.dup2(log, 1), os.dup2(log, 2)
os.environ.clear()
os.environ.update({environment!r})
torch.set_num_threads(1)
runpy.run_path({script!r}, run_name="__main__")
"""


@dataclass
class Tally:
    """What a campaign has found."""

    kills: int = 0
    lost: int = 0
    wrong_bytes: int = 0
    orphans: int = 0
    resumed: int = 0
    """Starts that found a checkpoint."""
    problems: list[str] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """For people and for ``make faults``."""
        return {name: value for name, value in asdict(self).items() if name != "problems"}


class Campaign:
    """Runs of one process each, in a store and in a folder of this machine."""

    def __init__(self, location: StorageLocation, folder: Path, seed: int) -> None:
        self._location, self._folder = location, folder
        self._random = random.Random(seed)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.integration.warm_ranks"])

    def kill(self, times: int) -> Tally:
        """Start and kill, a run after the other."""
        tally = Tally()
        while tally.kills < times:
            self._run(f"run-{tally.kills}", min(RUN_KILLS, times - tally.kills), tally)
        return tally

    def start(self, plan: LaunchPlan, **environment: str) -> BaseProcess:
        """One process of a run; what it says is in ``said`` of the run's folder."""
        workspace = self.workspace(plan)
        workspace.mkdir(parents=True, exist_ok=True)
        file = workspace / f"plan-{plan.submission}-{plan.stop.steps}.json"
        plan.write(file)
        variables = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SEEDANCE_")},
            "SEEDANCE_PLAN": str(file),
            "SEEDANCE_WORKSPACE": str(workspace),
            **environment,
        }
        code = _START.format(log=str(workspace / "log"), environment=variables, script=str(SAVER))
        process = self._context.Process(target=exec, args=(code, {}))
        process.start()
        return process

    def plan(self, run: str, *, submission: int = 1, steps: int = STEPS, **checkpoint: Any) -> LaunchPlan:
        """Of a run of this campaign."""
        return small_plan(
            run_id=run,
            submission=submission,
            stop={"steps": steps},
            checkpoint={"interval_steps": 1, "keep": {"last": 2}} | checkpoint,
            storage=self._location.child(run),
        )

    def workspace(self, plan: LaunchPlan) -> Path:
        """Where a run's processes write."""
        return self._folder / plan.run_id / "launch"

    def said(self, plan: LaunchPlan) -> list[list[str]]:
        """What the run's processes have said so far, in words."""
        file = self.workspace(plan) / "said"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def log(self, plan: LaunchPlan) -> str:
        """Their output."""
        return (self.workspace(plan) / "log").read_text()

    def _run(self, run: str, kills: int, tally: Tally) -> None:
        submission = 1
        plan = self.plan(run)
        for _ in range(kills):
            plan = self.plan(run, submission=submission)
            self._start_and_kill(plan)
            tally.kills += 1
            submission += self._random.random() < 0.5  # else torchrun, say, starts the same one anew
        newest = max([int(words[1]) for words in self.said(plan) if words[0] != "done"], default=0)
        last = self.plan(run, submission=submission, steps=newest + 3)
        process = self.start(last)
        process.join(120)
        if process.exitcode != 0:
            tally.problems.append(f"{run} ended with {process.exitcode}:\n{self.log(plan)[-3000:]}")
        self._judge(last, tally)

    def _start_and_kill(self, plan: LaunchPlan) -> None:
        if self._random.random() < 0.5:
            process = self.start(plan, DIE_AT_BOUNDARY=str(self._random.randint(1, BOUNDARIES)))
            process.join(60)
        else:
            known = len(self.said(plan))
            process = self.start(plan)
            deadline = time.monotonic() + 60
            while len(self.said(plan)) == known and process.is_alive() and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(self._random.random() * LONGEST_LIFE_S)
        process.kill()
        process.join(30)

    def _judge(self, plan: LaunchPlan, tally: Tally) -> None:
        committed = 0
        for words in self.said(plan):
            match words:
                case ["committed", step, *_]:
                    committed = max(committed, int(step))
                case ["restored", step, verdict]:
                    tally.resumed += int(step) > 0
                    tally.lost += int(step) < committed
                    tally.wrong_bytes += verdict != "right"
                    committed = int(step)
        if orphans := self.orphans(plan):
            tally.orphans += len(orphans)
            tally.problems.append(f"{plan.run_id} leaves {', '.join(orphans)}")

    def orphans(self, plan: LaunchPlan) -> list[str]:
        """What lies in the store or on the node after a good end, and belongs to no checkpoint."""
        store = ObjectStore(plan.storage)
        named = {
            f"{manifest.folder}/{name}"
            for manifest in CheckpointCatalogue(store, plan.job_hash, plan.submission).committed()
            for name in ("manifest.json", *(file.name for file in manifest.files))
        }
        stones = re.compile(r"checkpoints/(newest|fence/.*|step-\d+/[^/]+/manifest\.json)")
        found = [key for key in store.list() if key not in named and not stones.fullmatch(key)]
        for folder in node_folders(plan, self.workspace(plan), 0).values():
            found += [str(path) for path in folder.rglob("*") if path.is_file()]
        return found


@contextmanager
def ended(*processes: BaseProcess) -> Iterator[None]:
    """None of these is left, whatever the test finds."""
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join(30)
