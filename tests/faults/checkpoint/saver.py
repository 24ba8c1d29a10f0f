"""What is killed: one process that saves a checkpoint at every step, and says what was committed.

Its state at a step is a function of the step alone, so that whoever resumes can tell a wrong byte.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.checkpoint import file_tier
from seedance_ops.training.checkpoint.checkpointer import Checkpointer
from seedance_ops.training.checkpoint.file_tier import FileTier
from seedance_ops.training.checkpoint.places import Places
from seedance_ops.training.checkpoint.shard_format import ShardLayout
from seedance_ops.training.checkpoint.state import Position, TrainingState
from seedance_ops.training.compression.config import DenseConfig
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.environment import RankEnvironment
from seedance_ops.training.errors import TrainingError
from seedance_ops.training.parallel import ProcessGroup
from seedance_ops.training.plan import LaunchPlan

ELEMENTS = 600_000
"""4.8 MB with the optimiser's: several requests to the disk, one part to the store."""
_BOUNDARIES: tuple[tuple[Any, str], ...] = (
    *((ObjectStore, name) for name in ("put", "put_buffer", "delete", "list")),
    *((FileTier, name) for name in ("store", "commit", "delete", "sweep", "clear")),
    *((file_tier, name) for name in ("write_durably", "sync_folder")),
    (ShardLayout, "stage"),
)
"""Calls before and after which a process may be killed."""


def main() -> None:
    plan = LaunchPlan.read(Path(os.environ["SEEDANCE_PLAN"]))
    workspace = Path(os.environ["SEEDANCE_WORKSPACE"])
    say = _spokesman(workspace / "said")
    if die_at := os.environ.get("DIE_AT_BOUNDARY"):
        _die_at(int(die_at))
    ProcessGroup.join(RankEnvironment(), "gloo")
    group = ProcessGroup(0, 1, 0, torch.device("cpu"))
    store = ObjectStore(plan.storage, patience_s=float(os.environ.get("PATIENCE_S", "20")))
    checkpointer = Checkpointer(store, plan, group, lambda tier: Places.of(plan, workspace, 0, tier))
    state = make_state(plan.variant)
    try:
        restored = checkpointer.restore(state)
        step = restored.position.step if restored else 0
        say("restored", step, "right" if step == 0 or is_right(state, step) else "WRONG")
        while step < plan.stop.steps:
            step += 1
            fill(state, step)
            position = Position(step, step, float(step), {}, None, final=step == plan.stop.steps)
            checkpointer.save(state, position, lambda: None)
            for record in checkpointer.records():
                say("committed", record.step, record.tier)
            time.sleep(random.random() * 0.02)
        checkpointer.clear()
        say("done", step, checkpointer.skipped)
    except TrainingError as error:
        say("refused", step, type(error).__name__)
        print(error, file=sys.stderr)
        checkpointer.close(hurry=True)
        sys.exit(78)
    dist.destroy_process_group()


def make_state(_variant: str = "") -> TrainingState:
    """A parameter and its momentum."""
    model = torch.nn.Linear(ELEMENTS, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer.state[model.weight] = {"momentum_buffer": torch.zeros_like(model.weight)}
    return TrainingState(model, optimizer, make_reduction(DenseConfig()))


def fill(state: TrainingState, step: int) -> None:
    """The state at a step."""
    weight, momentum = _tensors(state)
    with torch.no_grad():
        weight.copy_(_pattern(step))
        momentum.copy_(_pattern(-step))


def is_right(state: TrainingState, step: int) -> bool:
    """Whether every bit is that of the step."""
    weight, momentum = _tensors(state)
    return torch.equal(weight, _pattern(step)) and torch.equal(momentum, _pattern(-step))


def _tensors(state: TrainingState) -> tuple[torch.Tensor, torch.Tensor]:
    (weight,) = state.model.parameters()
    return weight, state.optimizer.state[weight]["momentum_buffer"]


def _pattern(step: int) -> torch.Tensor:
    return (torch.arange(ELEMENTS, dtype=torch.float32) % 8191 * 257 + step).view(1, -1)


def _spokesman(path: Path) -> Callable[..., None]:
    """Appends lines that outlive a kill: one write each."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def say(*words: object) -> None:
        os.write(file, (" ".join(map(str, words)) + "\n").encode())

    return say


def _die_at(number: int) -> None:
    """Kill this process at the so-and-so-many-th boundary that any thread comes to."""
    passed = iter(range(1, 1 << 60))

    def boundary() -> None:
        if next(passed) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    for owner, name in _BOUNDARIES:
        setattr(owner, name, _between(getattr(owner, name), boundary))


def _between(call: Callable[..., Any], boundary: Callable[[], None]) -> Callable[..., Any]:
    def watched(*arguments: Any, **named: Any) -> Any:
        boundary()
        result = call(*arguments, **named)
        boundary()
        return result

    return watched


if __name__ == "__main__":
    main()
