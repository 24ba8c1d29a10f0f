"""Exits with 0 when the bytes that are accounted for are the bytes that the loopback device carried.

Starts its ranks itself, in a network namespace, and so is started as one rank.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import sys
from dataclasses import replace

import psutil
import torch
import torch.distributed as dist
from own_network import enter_own_network
from pydantic import TypeAdapter
from torch import nn

from seedance_ops.netlab.counters import Sent
from seedance_ops.training.compression.config import CompressionConfig
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.environment import RankEnvironment
from seedance_ops.training.parallel import ProcessGroup

RANKS, ROUNDS, STEPS = 4, 2, 3
"""Two rounds: on a busy machine TCP sends some of it twice."""
LIMIT_S = 100.0
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
    ratios = []
    for _ in range(ROUNDS):
        before, accounted = carried(), 0
        for _ in range(STEPS):
            train_a_step(model)
            accounted += group.world_size * measured.take().bytes_on_wire
        ratios.append((carried() - before) / accounted)
    assert min(abs(ratio - 1) for ratio in ratios) <= TOLERANCE, (algorithm, ratios)
    reduction.close()


def train_a_step(model: nn.Module) -> None:
    model(torch.randn(1, 1024)).sum().backward()


def rank(number: int) -> None:
    faulthandler.dump_traceback_later(LIMIT_S)
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number))
    group = ProcessGroup.join(RankEnvironment.read(os.environ), "gloo")
    for algorithm in ALGORITHMS:
        check(group, algorithm)
    nodes = replace(group, local_rank=group.rank % PER_NODE, local_world_size=PER_NODE)
    check(nodes, TWO_LEVELS)
    group.leave()


def main() -> None:
    faulthandler.cancel_dump_traceback_later()  # its thread is one too many for a new namespace
    enter_own_network()
    os.environ.update(WORLD_SIZE=str(RANKS), LOCAL_WORLD_SIZE=str(RANKS), GLOO_SOCKET_IFNAME="lo")
    fork = multiprocessing.get_context("fork")
    ranks = [fork.Process(target=rank, args=(number,)) for number in range(RANKS)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(LIMIT_S)
    codes = [process.exitcode for process in ranks]  # none of one that hangs
    for process in ranks:
        process.kill()
    sys.exit(int(any(code != 0 for code in codes)))


if __name__ == "__main__":
    main()
