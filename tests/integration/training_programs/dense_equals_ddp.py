"""Exits with 0 when the measured dense reduction trains to the same bits as DDP without a hook."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from seedance_ops.training.session import TrainingSession


def main() -> None:
    with TrainingSession.from_environment(steps=5, batch_per_rank=4) as session:
        torch.manual_seed(1)
        own = nn.Sequential(
            nn.Linear(16, 300), nn.Tanh(), nn.Linear(300, 1200), nn.Tanh(), nn.Linear(1200, 1)
        )
        plain = DistributedDataParallel(copy.deepcopy(own))
        plain_optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
        model, optimizer = session.prepare(own, torch.optim.SGD(own.parameters(), lr=0.1))
        for step in session.steps():
            torch.manual_seed(1000 + step.sample_offset)
            x = torch.randn(4, 16)
            for network, rule in ((model, optimizer), (plain, plain_optimizer)):
                network(x).square().mean().backward()
                rule.step()
                rule.zero_grad()
            session.record(None)
        for ours, theirs in zip(own.parameters(), plain.parameters(), strict=True):
            assert torch.equal(ours, theirs)


if __name__ == "__main__":
    main()
