"""Which local launches of a run are alive, and how far each is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from seedance_ops.launchers.local import LocalLauncher
from seedance_ops.launchers.workspace import Progress, Workspace
from seedance_ops.training.plan import LaunchPlan


@dataclass(frozen=True)
class RunningLaunch:
    """A launch whose processes live."""

    name: str
    variant: str
    seed: int
    started_at_s: float
    progress: Progress | None


def running_launches(root: Path, job: str, run_id: str) -> list[RunningLaunch]:
    """The living launches of one run, from their folders below ``root``."""
    found = []
    for folder in root.glob("*"):
        workspace = Workspace(folder)
        started = workspace.started()
        if started is None or not _lives(workspace):
            continue
        try:
            plan = LaunchPlan.read(workspace.plan)
        except (OSError, ValidationError):
            continue
        if (plan.job, plan.run_id) == (job, run_id):
            found.append(
                RunningLaunch(
                    folder.name, plan.variant, plan.seed, started.started_at_s, workspace.progress()
                )
            )
    return found


def cancel_all(root: Path) -> list[str]:
    """Cancel every living launch below ``root``, whatever run it belongs to; returns their names."""
    launcher = LocalLauncher(root)
    names = [folder.name for folder in root.glob("*") if _lives(Workspace(folder))]
    for name in names:
        if handle := launcher.find(name):
            launcher.cancel(handle)
    return names


def _lives(workspace: Workspace) -> bool:
    started = workspace.started()
    return bool(started and not workspace.ended() and started.is_alive)
