"""A session around a model in two shards by two replicas; exits with 0 when the loss fell."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from seedance_ops.training.session import TrainingSession


def main() -> None:
    with TrainingSession.from_environment(steps=10, batch_per_rank=4) as session:
        nodes = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "shard"))
        layers = nn.Sequential(nn.Linear(32, 300), nn.Tanh(), nn.Linear(300, 1))
        fully_shard(layers, mesh=nodes["shard"])
        model, optimizer = session.prepare(layers, torch.optim.AdamW(layers.parameters(), lr=3e-3))
        losses = []
        x = torch.randn(4, 32, generator=torch.Generator().manual_seed(session.rank))
        for _ in session.steps():
            loss = (model(x) - x[:, :1]).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            session.record(loss)
            losses.append(loss.item())
        assert losses[-1] < 0.8 * losses[0], losses


if __name__ == "__main__":
    main()
