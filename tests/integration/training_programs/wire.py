"""Exits with 0 when the bytes that a session accounts for are the bytes that the loopback device carried."""

from __future__ import annotations

import os

import psutil
import torch
import torch.distributed as dist
from torch import nn

from seedance_ops.training.compression.config import (
    Bf16Config,
    DenseConfig,
    Fp16Config,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.config import StopCondition
from seedance_ops.training.environment import JobEnvironment, RankEnvironment
from seedance_ops.training.session import TrainingSession

STEPS = 5
HEADERS = 1.1
"""TCP headers, acknowledgements, and the barriers around the count."""


def carried() -> int:
    dist.barrier()
    sent = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
    dist.barrier()
    return int(sent)


def main() -> None:
    compression = {
        "dense": DenseConfig(),
        "bf16": Bf16Config(algorithm="bf16"),
        "fp16": Fp16Config(algorithm="fp16"),
        "topk_error_feedback": TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.25),
    }[os.environ["ALGORITHM"]]
    environment = JobEnvironment(RankEnvironment.read(os.environ), None, compression, None, None, None)
    with TrainingSession(environment, stop=StopCondition(steps=STEPS), batch_per_rank=1, seed=0) as session:
        own = nn.Sequential(nn.Linear(1024, 1536, bias=False), nn.Linear(1536, 512))
        model, _ = session.prepare(own, torch.optim.SGD(own.parameters(), lr=0.1))
        before = carried()
        for _step in session.steps():
            model(torch.randn(1, 1024)).sum().backward()
            own.zero_grad()
            session.record(None)
        on_the_wire = carried() - before
        accounted = session.world_size * sum(record.bytes_on_wire for record in session.log.steps)
        assert accounted <= on_the_wire <= HEADERS * accounted, (accounted, on_the_wire)


if __name__ == "__main__":
    main()
