"""A training script that uses every kind of state a checkpoint must carry, and dies where a test says."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.node_folders import node_folders
from seedance_ops.training.plan import LaunchPlan
from seedance_ops.training.session import TrainingSession


def batch(samples: range) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.stack([torch.sin(torch.arange(16.0) * (sample % 97 + 1)) for sample in samples])
    return x, x.sum(dim=1, keepdim=True)


def die(step: int) -> None:
    """Once the checkpoint before this step is committed where it goes: writing takes longer than a step."""
    plan = LaunchPlan.read(Path(os.environ["SEEDANCE_PLAN"]))
    if plan.checkpoint.interval.policy != "fixed":  # nobody outside knows which step it is
        catalogue = CheckpointCatalogue(ObjectStore(plan.storage), plan.job_hash, plan.submission)
        deadline = time.monotonic() + 30
        while not catalogue.committed() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)
    due = (step - 1) // plan.checkpoint.interval_steps * plan.checkpoint.interval_steps
    if due // plan.checkpoint.interval_steps % plan.checkpoint.cadence.object == 0:
        catalogue = CheckpointCatalogue(ObjectStore(plan.storage), plan.job_hash, plan.submission)
        while due and due not in [manifest.step for manifest in catalogue.committed()]:
            time.sleep(0.05)
    else:
        near = node_folders(plan, Path(os.environ["SEEDANCE_WORKSPACE"]), 0)["local"]
        while not list(near.glob(f"checkpoints/step-{due:08d}/*/manifest.json")):
            time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    with TrainingSession.from_environment(
        steps=int(os.environ.get("STEPS", "12")), batch_per_rank=4
    ) as session:
        model: nn.Module = nn.Sequential(
            *(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2)),
            *(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 1)),
        )
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.9)
        model, optimizer = session.prepare(model, optimizer, scheduler=scheduler, tokens_per_sample=16)
        for step in session.steps():
            if os.environ.get("DIE_AT") == str(step.number):
                die(step.number)
            x, y = batch(step.samples)
            noise = random.random() + float(np.random.random())
            loss = ((model(x) - y) ** 2).mean() * (1.0 + 0.1 * noise)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
            session.record(loss)
            session.report(val_loss=float(loss.detach()))
            time.sleep(float(os.environ.get("PAUSE_S", "0")))


if __name__ == "__main__":
    main()
