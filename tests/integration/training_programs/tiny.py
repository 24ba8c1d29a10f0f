"""A training script that uses every kind of state a checkpoint must carry, and dies where a test says."""

from __future__ import annotations

import os
import random
import signal
import time

import numpy as np
import torch
from torch import nn

from seedance_ops.training.session import TrainingSession


def batch(samples: range) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.stack([torch.sin(torch.arange(16.0) * (sample % 97 + 1)) for sample in samples])
    return x, x.sum(dim=1, keepdim=True)


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
                os.kill(os.getpid(), signal.SIGKILL)
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
