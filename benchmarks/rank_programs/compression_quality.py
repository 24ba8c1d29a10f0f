"""One rank of ``benchmarks/compression.py``: trains one task with one compressor, prints losses and bytes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from compression_study.compressors import OURS, bucket_cap_mb, configuration, register_torch_hook
from compression_study.tasks import BATCH_PER_RANK, learning_rate_factor, make_task

from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.environment import RankEnvironment
from seedance_ops.training.parallel import ProcessGroup

EVALUATE_EVERY = 100


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--task", required=True)
    options.add_argument("--compressor", required=True)
    options.add_argument("--seed", type=int, required=True)
    options.add_argument("--lr", type=float, required=True)
    options.add_argument("--steps", type=int, required=True)
    options.add_argument("--base-model", type=Path)
    options.add_argument("--save", type=Path)
    chosen = options.parse_args()
    torch.set_num_threads(1)
    import os

    group = ProcessGroup.join(RankEnvironment.read(os.environ), "gloo")
    torch.manual_seed(chosen.seed)
    task = make_task(chosen.task, chosen.base_model)
    optimizer = torch.optim.AdamW(task.model.parameters(), lr=chosen.lr)
    bytes_sent, measured, reduction = 0, None, None
    if chosen.compressor in OURS:
        reduction = make_reduction(configuration(chosen.compressor))
        model, measured = group.wrap(task.model, reduction, optimizer)
    else:
        model = DistributedDataParallel(task.model, bucket_cap_mb=bucket_cap_mb(chosen.compressor))
        register_torch_hook(chosen.compressor, model)
    curve = []
    per_step = group.world_size * BATCH_PER_RANK
    for step in range(1, chosen.steps + 1):
        for parameters in optimizer.param_groups:
            parameters["lr"] = chosen.lr * learning_rate_factor(step, chosen.steps)
        first = (step - 1) * per_step + group.rank * BATCH_PER_RANK
        optimizer.zero_grad()
        task.loss(range(first, first + BATCH_PER_RANK), chosen.seed, model).backward()
        optimizer.step()
        if measured is not None:
            measured.end_step(meet=step == chosen.steps)
            bytes_sent += measured.take().bytes_on_wire
        if step % EVALUATE_EVERY == 0 or step == chosen.steps:
            curve.append([step, task.validation_loss() if group.rank == 0 else 0.0])
    if group.rank == 0:
        if chosen.save:
            torch.save(task.model.state_dict(), chosen.save)
        print(json.dumps({"curve": curve, "bytes_per_step": bytes_sent / chosen.steps}))
    dist.barrier()
    if reduction is not None:
        reduction.close()
    ProcessGroup.leave()


if __name__ == "__main__":
    main()
