"""One rank of ``benchmarks/compression.py``: times interleaved steps of every compressor, prints them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from compression_study.compressors import OURS, bucket_cap_mb, configuration, register_torch_hook
from compression_study.tasks import example

from seedance_ops.netlab.counters import sent_by_this_rank
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.environment import RankEnvironment
from seedance_ops.training.parallel import ProcessGroup

ALONE = "no_exchange"
"""The same step without any exchange of gradients: what is beyond it is waiting, or compressing."""
LAYERS, WIDTH, HEADS, CONTEXT, BATCH = 4, 256, 4, 96, 8
WARM_UP = 3
TIMED = 2
"""Steps in a row of one compressor, after one that is not timed."""
ARRIVAL_S = 0.3
"""For the last step's exchange, where it goes on beside the next: it must not slow another compressor's."""
Step = Callable[[], None]


def main(compressors: list[str], rounds: int) -> None:
    torch.set_num_threads(1)
    group = ProcessGroup.join(RankEnvironment.read(os.environ), "gloo")
    tokens = torch.randint(0, 256, (BATCH, CONTEXT + 1), generator=torch.Generator().manual_seed(group.rank))
    closers: list[Callable[[], None]] = []
    steps = {name: step_of(name, group, tokens, closers) for name in [ALONE, *compressors]}
    for name in range(WARM_UP * len(steps)):
        list(steps.values())[name % len(steps)]()
    found = []
    for _ in range(rounds):
        for name, step in steps.items():
            step()  # what is exchanged beside the next step is under way from here on
            for _ in range(TIMED):
                dist.barrier()
                before = sent_by_this_rank()
                began_s = time.perf_counter()
                step()
                step_ms = 1e3 * (time.perf_counter() - began_s)
                sent = sent_by_this_rank().since(before).tcp_payload_bytes
                found.append({"compressor": name, "step_ms": step_ms, "interface_bytes": sent})
            time.sleep(ARRIVAL_S)
    if group.rank == 0:
        print(json.dumps(found))
    dist.barrier()
    for close in closers:
        close()
    ProcessGroup.leave()


def step_of(name: str, group: ProcessGroup, tokens: torch.Tensor, closers: list[Callable[[], None]]) -> Step:
    torch.manual_seed(0)
    own = example().CharGPT(LAYERS, WIDTH, HEADS, CONTEXT)
    optimizer = torch.optim.AdamW(own.parameters(), lr=1e-3)
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    if name in OURS:
        reduction = make_reduction(configuration(name))
        closers.append(reduction.close)
        model, measured = group.wrap(own, reduction, optimizer)
    else:
        model, measured = DistributedDataParallel(own, bucket_cap_mb=bucket_cap_mb(name)), None
        if name != ALONE:
            register_torch_hook(name, model)

    def step() -> None:
        if name == ALONE:
            with model.no_sync():
                model(inputs, targets).backward()
        else:
            model(inputs, targets).backward()
        optimizer.step()
        if measured is not None:
            measured.end_step()
            measured.take()
        optimizer.zero_grad()

    return step


if __name__ == "__main__":
    main(sys.argv[2:], int(sys.argv[1]))
