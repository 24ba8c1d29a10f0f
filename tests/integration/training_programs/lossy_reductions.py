"""Exits with 0 when every lossy reduction averages as it promises, on as many ranks as it is started on.

Each step: all ranks get the same bits; the bytes handed over are those declared; and nothing is lost: what
all ranks put in is what came out, plus what is still carried.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from flat_bucket import Bucket
from stepped import stepped
from torch import nn

from seedance_ops.training.compression.base import Bound, GradientReduction
from seedance_ops.training.compression.config import (
    CompressionConfig,
    MixedPrecisionConfig,
    PowerSgdConfig,
    QuantizedErrorFeedbackConfig,
    RandomKConfig,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.device import DeviceProfile, device_of
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.compression.owner_rows import from_rows

SHAPES = [(128, 96), (96,), (200, 64), (7, 3)]
STEPS = 6
A100 = DeviceProfile(device="a100", vendor="NVIDIA")
MI250X = DeviceProfile(device="mi250x", vendor="AMD", threshold_scale=0.87)
PVC = DeviceProfile(device="pvc", vendor="Intel", threshold_scale=0.93)
WITHOUT_TOP_K = DeviceProfile(device="other", vendor="AMD", top_k=False)
MIXES = [(A100, MI250X), (A100, MI250X, PVC), (MI250X, A100, MI250X), (A100, WITHOUT_TOP_K)]
CONFIGURATIONS: list[CompressionConfig] = [
    *(
        QuantizedErrorFeedbackConfig(algorithm="quantized_error_feedback", levels=n)
        for n in (None, 3, 5, 7, 15, 255)
    ),
    TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.05),
    TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.05, values="int4"),
    TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.05, in_optimizer_units=True),
    RandomKConfig(algorithm="random_k", k_ratio=0.1),
    MixedPrecisionConfig(algorithm="mixed_precision", k_ratio=0.05),
    MixedPrecisionConfig(algorithm="mixed_precision", sparse=False),
    PowerSgdConfig(algorithm="powersgd"),
    PowerSgdConfig(algorithm="powersgd", rank=4),
]


def main() -> None:
    dist.init_process_group("gloo")
    parameters, optimizer = stepped(SHAPES)
    for configuration in CONFIGURATIONS:
        reduction = make_reduction(configuration)
        names = {id(parameter): str(n) for n, parameter in enumerate(parameters)}
        reduction.bind(Bound(names, torch.device("cpu"), optimizer))
        check(reduction, parameters, str(configuration))
        reduction.close()
    for mix in MIXES:
        reduction = make_reduction(MixedPrecisionConfig(algorithm="mixed_precision"), mix)
        reduction.bind(Bound({id(p): str(n) for n, p in enumerate(parameters)}, torch.device("cpu")))
        check(reduction, parameters, str([device.device for device in mix]))
        each_sends_by_its_own_share(reduction, mix)
        reduction.close()
    powersgd = make_reduction(PowerSgdConfig(algorithm="powersgd"))
    powersgd.bind(Bound({id(parameters[0]): "0"}, torch.device("cpu")))
    stays_bounded(powersgd, parameters[0])
    powersgd.close()
    dist.barrier()
    dist.destroy_process_group()


def check(reduction: GradientReduction, parameters: list[nn.Parameter], name: str) -> None:
    ranks = dist.get_world_size()
    generator = torch.Generator().manual_seed(dist.get_rank())
    put_in = [torch.zeros(shape) for shape in SHAPES]
    came_out = [torch.zeros(shape) for shape in SHAPES]
    for _ in range(STEPS):
        gradients = [torch.randn(shape, generator=generator) * 1e-3 for shape in SHAPES]
        for total, gradient in zip(put_in, gradients, strict=True):
            total.add_(gradient)
        # The last parameters' gradients are ready first, as in a backward pass.
        buckets = [Bucket(0, parameters[2:], gradients[2:]), Bucket(1, parameters[:2], gradients[:2])]
        started = [reduction.reduce(bucket) for bucket in buckets]
        for bucket, one in zip(buckets, started, strict=True):
            one.future.wait()
            shapes = [parameter.shape for parameter in bucket.parameters()]
            declared = reduction.declared_bytes(shapes, ranks)
            assert one.bytes_sent == declared, (name, one.bytes_sent, declared)
        reduced = buckets[1].gradients() + buckets[0].gradients()
        for total, gradient in zip(came_out, reduced, strict=True):
            same = gradient.clone()
            dist.broadcast(same, 0)
            assert torch.equal(same, gradient), name
            total.add_(gradient)
    for n, (total, out) in enumerate(zip(put_in, came_out, strict=True)):
        missing = mean_over_ranks(total - carried(reduction, n, worker=True)) - out
        missing -= mean_over_ranks(ranks * carried(reduction, n, worker=False))
        # Small tensors carry nothing: they are rounded to bfloat16, twice in each step.
        rounding = 1e-6 if torch.Size(SHAPES[n]).numel() >= 4096 else 2**-7 * STEPS
        assert missing.abs().max() <= rounding * 1e-2, (name, n, missing.abs().max())


def each_sends_by_its_own_share(reduction: GradientReduction, mix: tuple[DeviceProfile, ...]) -> None:
    ranks = dist.get_world_size()
    sent = [0] * ranks
    dist.all_gather_object(sent, reduction.declared_bytes(SHAPES, ranks))
    shares = [device_of(mix, rank, ranks).k_of(0.01) for rank in range(ranks)]
    assert ranks == 1 or len(set(sent)) == len(set(shares)), (mix, sent)


def stays_bounded(reduction: GradientReduction, parameter: nn.Parameter) -> None:
    """What ranks with quite different gradients carry must not add up for ever."""
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(150):
        gradient = torch.randn(parameter.shape, generator=generator)
        reduction.reduce(Bucket(0, [parameter], [gradient])).future.wait()
    carried_norm = reduction.state_dict()["worker.0"].norm()
    assert carried_norm <= 6 * gradient.norm(), carried_norm / gradient.norm()


def mean_over_ranks(values: torch.Tensor) -> torch.Tensor:
    values = values.clone()
    dist.all_reduce(values)
    return values / dist.get_world_size()


def carried(reduction: GradientReduction, n: int, *, worker: bool) -> torch.Tensor:
    """What this rank still has of parameter ``n``, as a worker or, in its own row, as an owner."""
    state, result = reduction.state_dict(), torch.zeros(SHAPES[n])
    if worker and (kept := state.get(f"worker.{n}")) is not None:
        if kept.shape == result.shape:
            return kept
        from_rows(kept, result)
    if not worker and (kept := state.get(f"owner.{n}")) is not None:
        rows = torch.zeros(dist.get_world_size(), len(kept))
        rows[dist.get_rank()] = kept
        from_rows(rows, result)
    return result


if __name__ == "__main__":
    main()
