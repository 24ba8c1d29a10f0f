"""Exits with 0 when one rank's infinite gradient reaches every rank once, and poisons nothing later."""

from __future__ import annotations

import torch
from torch import nn

from seedance_ops.training.session import TrainingSession


def main() -> None:
    with TrainingSession.from_environment(steps=6, batch_per_rank=1) as session:
        own = nn.Linear(64, 128, bias=False)
        model, optimizer = session.prepare(own, torch.optim.SGD(own.parameters(), lr=0.01))
        residual_before: torch.Tensor | None = None
        for step in session.steps():
            torch.manual_seed(step.sample_offset)
            x = torch.randn(1, 64)
            scale = torch.inf if (step.number, session.rank) == (3, 1) else 1.0
            (model(x).sum() * scale).backward()
            gradient = own.weight.grad
            assert gradient is not None
            assert bool(torch.isfinite(gradient).all()) == (step.number != 3)
            if step.number != 3:
                optimizer.step()
            optimizer.zero_grad()
            session.record(None)
            residual = session.reduction.state_dict()["worker.weight"].clone()
            assert torch.isfinite(residual).all()
            if step.number == 3:
                assert residual_before is not None
                assert torch.equal(residual, residual_before)
            residual_before = residual


if __name__ == "__main__":
    main()
