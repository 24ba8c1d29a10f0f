"""Exits with 0 when the bytes that are accounted for are the bytes that the loopback device carried."""

from __future__ import annotations

import os
from dataclasses import replace

import psutil
import torch
import torch.distributed as dist
from pydantic import TypeAdapter
from torch import nn

from seedance_ops.netlab.counters import Sent
from seedance_ops.training.compression.config import CompressionConfig
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.environment import RankEnvironment
from seedance_ops.training.parallel import ProcessGroup

STEPS = 5
TOLERANCE = 0.02
"""Barriers, and what gloo says about each message; packets that were under way when it was read."""
ALGORITHMS: list[dict[str, object]] = [
    {"algorithm": "dense"},
    {"algorithm": "bf16"},
    {"algorithm": "fp16"},
    {"algorithm": "topk_error_feedback", "k_ratio": 0.25},
    {"algorithm": "random_k", "k_ratio": 0.25},
    {"algorithm": "quantized_error_feedback"},
    {"algorithm": "powersgd", "byte_share": 0.2},
    {"algorithm": "mixed_precision", "k_ratio": 0.05},
]
TWO_LEVELS: dict[str, object] = {"algorithm": "topk_error_feedback", "k_ratio": 0.25, "two_levels": True}
PER_NODE = 2


def carried() -> int:
    """TCP's payload so far."""
    dist.barrier()
    loopback = psutil.net_io_counters(pernic=True)["lo"]
    dist.barrier()
    return Sent(loopback.bytes_sent, loopback.packets_sent).tcp_payload_bytes


def check(group: ProcessGroup, algorithm: dict[str, object]) -> None:
    config: CompressionConfig = TypeAdapter(CompressionConfig).validate_python(algorithm)
    own, reduction = (
        nn.Sequential(nn.Linear(1024, 1536, bias=False), nn.Linear(1536, 512)),
        make_reduction(config),
    )
    model, measured = group.wrap(own, reduction)
    train_a_step(model)  # in which connections are made
    measured.take()
    before, accounted = carried(), 0
    for _ in range(STEPS):
        train_a_step(model)
        accounted += group.world_size * measured.take().bytes_on_wire
    on_the_wire = carried() - before
    assert abs(on_the_wire / accounted - 1) <= TOLERANCE, (algorithm, accounted, on_the_wire)
    reduction.close()


def train_a_step(model: nn.Module) -> None:
    model(torch.randn(1, 1024)).sum().backward()


def main() -> None:
    group = ProcessGroup.join(RankEnvironment.read(os.environ), "gloo")
    for algorithm in ALGORITHMS:
        check(group, algorithm)
    nodes = replace(group, local_rank=group.rank % PER_NODE, local_world_size=PER_NODE)
    check(nodes, TWO_LEVELS)
    group.leave()


if __name__ == "__main__":
    main()
