"""Exits with 0 when flushes lose nothing: what ranks put in came out or is owed, and all owe the same.

Steps with a flush after every third, by every lossy reduction, on as many ranks as it is started on.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from flat_bucket import Bucket
from torch import nn

from seedance_ops.training.compression.base import Bound, ring_all_reduce_bytes
from seedance_ops.training.compression.config import (
    CompressionConfig,
    MixedPrecisionConfig,
    PowerSgdConfig,
    QuantizedErrorFeedbackConfig,
    RandomKConfig,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.factory import make_reduction

SHAPE = torch.Size([130, 97])
CPU = torch.device("cpu")
CONFIGURATIONS: list[CompressionConfig] = [
    TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.05, flush_on_save=True),
    QuantizedErrorFeedbackConfig(algorithm="quantized_error_feedback", flush_on_save=True),
    RandomKConfig(algorithm="random_k", k_ratio=0.1, flush_on_save=True),
    MixedPrecisionConfig(algorithm="mixed_precision", flush_on_save=True),
    PowerSgdConfig(algorithm="powersgd", flush_on_save=True),
]


def check(config: CompressionConfig) -> None:
    ranks, parameter, reduction = (
        dist.get_world_size(),
        nn.Parameter(torch.zeros(SHAPE)),
        make_reduction(config),
    )
    reduction.bind(Bound({id(parameter): "w"}, CPU, shapes={"w": SHAPE}))
    generator = torch.Generator().manual_seed(dist.get_rank())
    put_in, came_out = torch.zeros(SHAPE, dtype=torch.float64), torch.zeros(SHAPE, dtype=torch.float64)
    for step in range(1, 7):
        gradient = torch.randn(SHAPE, generator=generator)
        put_in += gradient / ranks
        bucket = Bucket(0, [parameter], [gradient])
        reduction.reduce(bucket).future.wait()
        came_out += bucket.gradients()[0]
        if step % 3:
            continue
        flushed = reduction.meet()
        assert flushed.bytes_sent == flushed.declared_bytes == ring_all_reduce_bytes(4 * SHAPE.numel(), ranks)
        assert reduction.meet().bytes_sent == 0  # there is nothing more to add up
        state = reduction.state_dict()
        for name, value in state.items():
            first = value.clone()
            dist.broadcast(first, 0)
            assert torch.equal(first, value), (config.algorithm, name)
        total = put_in.clone()
        dist.all_reduce(total)
        missing = (total - came_out - state["flushed.w"].double()).abs().max()
        # Single precision, of what has gone through: six gradients of up to five.
        assert missing <= 1e-6 * 6 * 5, (config.algorithm, missing)
        reduction.load_state_dict({name: value.clone() for name, value in state.items()})
    reduction.close()


def main() -> None:
    dist.init_process_group("gloo")
    for config in CONFIGURATIONS:
        check(config)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
