"""Runs of every task, compressor and seed, each kept in a file: the study goes on where it ended."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

from compression_study.tasks import BASE, RECIPES

PROGRAM = Path(__file__).resolve().parents[1] / "rank_programs/compression_quality.py"
RANKS = 2
TIMEOUT_S = 1800
BASELINE = "dense"
HELD_OUT = (1001,)
"""Seeds by which learning rates are chosen; none of them is judged."""


@dataclass(frozen=True)
class Training:
    """One run."""

    task: str
    compressor: str
    seed: int
    lr: float
    steps: int

    @property
    def file(self) -> str:
        """Where its outcome is kept."""
        return f"{self.task}-{self.compressor}-{self.seed}-{self.lr:g}-{self.steps}.json"


class Study:
    """The outcomes in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def trainings(self) -> list[Training]:
        """What has been run, by file name."""
        files = sorted(self._directory.glob("*-*-*-*.json"))
        return [Training(**json.loads(file.read_text(encoding="utf-8"))["training"]) for file in files]

    def outcome(self, training: Training) -> dict[str, Any] | None:
        """What a finished run printed; none where it has not been run."""
        path = self._directory / training.file
        if not path.exists():
            return None
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["outcome"]
        return found

    def final_loss(self, training: Training) -> float | None:
        """The validation loss at the end."""
        outcome = self.outcome(training)
        return None if outcome is None else float(outcome["curve"][-1][1])

    def run(self, trainings: list[Training]) -> None:
        """Run what has not been run."""
        wanted = [training for training in trainings if self.outcome(training) is None]
        with Progress(disable=not wanted) as progress:
            bar = progress.add_task("trainings", total=len(wanted))
            for training in wanted:
                progress.update(bar, description=f"{training.task} {training.compressor} {training.seed}")
                self._run(training)
                progress.advance(bar)

    def learning_rate(self, task: str, compressor: str) -> float:
        """The best of the recipe's on the held-out seeds.

        Of a compressor that was not tuned it is that of the dense runs, and of those the recipe's first.
        """
        recipe = RECIPES[task]
        means = {}
        for lr in recipe.learning_rates:
            losses = [self.final_loss(Training(task, compressor, s, lr, recipe.steps)) for s in HELD_OUT]
            if all(loss is not None for loss in losses):
                means[lr] = sum(loss for loss in losses if loss is not None) / len(losses)
        if means:
            return min(means, key=lambda lr: means[lr])
        return recipe.learning_rates[0] if compressor == BASELINE else self.learning_rate(task, BASELINE)

    def base_model(self) -> Path:
        """The model that is fine-tuned, trained once."""
        path = self._directory / "base-model.pt"
        if not path.exists():
            training = Training("scratch", "dense", 999, BASE.learning_rates[0], BASE.steps)
            self._launch(training, "--save", str(path))
        return path

    def _run(self, training: Training) -> None:
        extra = ("--base-model", str(self.base_model())) if training.task == "tune" else ()
        outcome = self._launch(training, *extra)
        content = {"training": asdict(training), "outcome": outcome}
        path = self._directory / training.file
        part = path.with_suffix(".part")
        part.write_text(json.dumps(content), encoding="utf-8")
        part.replace(path)

    def _launch(self, training: Training, *extra: str) -> dict[str, Any]:
        arguments = ["--task", training.task, "--compressor", training.compressor]
        arguments += ["--seed", str(training.seed), "--lr", str(training.lr), "--steps", str(training.steps)]
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
        ran = subprocess.run(
            [sys.executable, *torchrun, str(PROGRAM), *arguments, *extra],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if ran.returncode:
            raise SystemExit(f"{training.file}: {ran.stderr[-3000:]}")
        outcome: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
        return outcome


def tuning(task: str, compressors: list[str]) -> Iterator[Training]:
    """Every learning rate of every compressor on the held-out seeds."""
    recipe = RECIPES[task]
    for compressor in compressors:
        for lr in recipe.learning_rates:
            for seed in HELD_OUT:
                yield Training(task, compressor, seed, lr, recipe.steps)
