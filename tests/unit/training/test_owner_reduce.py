"""Error feedback of compressed averages: settled, scaled, resumed; in a process group of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch._C._distributed_c10d import HashStore

from seedance_ops.training.compression.base import Bound, GradientReduction
from seedance_ops.training.compression.config import (
    CompressionConfig,
    MixedPrecisionConfig,
    PowerSgdConfig,
    QuantizedErrorFeedbackConfig,
    RandomKConfig,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.dense_first import DenseFirst
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.compression.power_sgd import PowerSgd, Width
from seedance_ops.training.compression.preconditioning import sizes_by_optimizer
from seedance_ops.training.errors import CheckpointError

SHAPE = (80, 64)
LOSSY: list[CompressionConfig] = [
    QuantizedErrorFeedbackConfig(algorithm="quantized_error_feedback"),
    TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.05),
    RandomKConfig(algorithm="random_k", k_ratio=0.1),
    PowerSgdConfig(algorithm="powersgd"),
    MixedPrecisionConfig(algorithm="mixed_precision", k_ratio=0.05),
]
BY_NAME = pytest.mark.parametrize("config", LOSSY, ids=lambda config: config.algorithm)


class Bucket:
    """One matrix."""

    def __init__(self, parameter: nn.Parameter, gradient: torch.Tensor) -> None:
        self._parameter, self._buffer = parameter, gradient.reshape(-1).clone()

    def index(self) -> int:
        return 0

    def buffer(self) -> torch.Tensor:
        return self._buffer

    def gradients(self) -> list[torch.Tensor]:
        return [self._buffer.view(SHAPE)]

    def parameters(self) -> list[torch.Tensor]:
        return [self._parameter]


@pytest.fixture(scope="module", autouse=True)
def group_of_one() -> Iterator[None]:
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.fixture
def bound() -> Iterator[Callable[..., tuple[GradientReduction, nn.Parameter]]]:
    made: list[GradientReduction] = []

    def make(config: CompressionConfig, scale: Callable[[], float] | None = None):  # type: ignore[no-untyped-def]
        parameter, reduction = nn.Parameter(torch.zeros(SHAPE)), make_reduction(config)
        reduction.bind(Bound({id(parameter): "w"}, torch.device("cpu"), None, scale))
        made.append(reduction)
        return reduction, parameter

    yield make
    for reduction in made:
        reduction.close()


def step(reduction: GradientReduction, parameter: nn.Parameter, gradient: torch.Tensor) -> torch.Tensor:
    bucket = Bucket(parameter, gradient)
    reduction.reduce(bucket).future.wait()
    return bucket.gradients()[0]


def gradient(seed: int) -> torch.Tensor:
    return torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed))


@BY_NAME
def test_a_step_that_is_not_finite_leaves_no_trace(bound, config: CompressionConfig) -> None:
    reduction, parameter = bound(config)
    step(reduction, parameter, gradient(0))
    before = {name: value.clone() for name, value in reduction.state_dict().items() if "step" not in name}
    bad = gradient(1)
    bad[3, 5] = torch.inf
    assert not torch.isfinite(step(reduction, parameter, bad)).all()
    after = reduction.state_dict()
    assert before
    for name, value in before.items():
        assert torch.equal(after[name], value), name
    assert torch.isfinite(step(reduction, parameter, gradient(2))).all()


@BY_NAME
def test_a_resumed_run_continues_to_the_same_bits(bound, config: CompressionConfig) -> None:
    first, parameter = bound(config)
    second, other = bound(config)
    for n in range(3):
        step(first, parameter, gradient(n))
    second.load_state_dict({name: value.clone() for name, value in first.state_dict().items()})
    for n in range(3, 6):
        assert torch.equal(step(first, parameter, gradient(n)), step(second, other, gradient(n)))


@pytest.mark.parametrize("config", LOSSY[:2], ids=lambda config: config.algorithm)
def test_a_loss_scale_that_changes_does_not_change_what_is_carried(bound, config: CompressionConfig) -> None:
    """Powers of two, as gradient scalers use: exact."""
    scales = iter([1024.0, 512.0, 2.0**16])
    now = {"scale": 1.0}
    scaled, parameter = bound(config, lambda: now["scale"])
    plain, other = bound(config)
    for n, scale in enumerate(scales):
        now["scale"] = scale
        reduced = step(scaled, parameter, gradient(n) * scale)
        assert torch.equal(reduced / scale, step(plain, other, gradient(n)))


def test_what_an_earlier_version_carried_is_refused_not_dropped(bound) -> None:
    reduction, _ = bound(TopKErrorFeedbackConfig(algorithm="topk_error_feedback"))
    with pytest.raises(CheckpointError, match="start the run again"):
        reduction.load_state_dict({"blocks.0.weight": torch.zeros(SHAPE)})


def test_without_error_feedback_nothing_is_carried(bound) -> None:
    config = QuantizedErrorFeedbackConfig(algorithm="quantized_error_feedback", error_accumulation=False)
    reduction, parameter = bound(config)
    step(reduction, parameter, gradient(0))
    assert reduction.state_dict() == {}


def test_in_the_optimisers_units_small_elements_are_rounded_as_finely_as_large_ones() -> None:
    """Half the rows are five times smaller: in the gradient's own units most of them become zero."""
    parameter = nn.Parameter(torch.zeros(SHAPE))
    optimizer = torch.optim.AdamW([parameter], lr=1e-3)
    sizes = torch.ones(SHAPE)
    sizes[::2] = 0.2
    errors = {}
    for in_units in (True, False):
        config = QuantizedErrorFeedbackConfig(
            algorithm="quantized_error_feedback", in_optimizer_units=in_units, error_accumulation=False
        )
        reduction = make_reduction(config)
        reduction.bind(Bound({id(parameter): "w"}, torch.device("cpu"), optimizer))
        parameter.grad = sizes.clone()
        optimizer.step()
        given = gradient(1) * sizes
        got = step(reduction, parameter, given)
        errors[in_units] = float((got - given)[::2].norm() / given[::2].norm())
        reduction.close()
    assert errors[True] < 0.7 * errors[False]


def test_an_optimiser_without_second_moments_has_no_units() -> None:
    parameter = nn.Parameter(torch.zeros(SHAPE))
    sgd = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    parameter.grad = gradient(0)
    sgd.step()
    assert sizes_by_optimizer(sgd, parameter) is None
    assert sizes_by_optimizer(torch.optim.AdamW([parameter]), parameter) is None


def test_dense_first_counts_the_steps_of_the_run_not_of_the_process(bound) -> None:
    config = QuantizedErrorFeedbackConfig(algorithm="quantized_error_feedback", dense_steps=2)
    reduction, parameter = bound(config)
    assert isinstance(reduction, DenseFirst)
    given = gradient(0)
    bf16 = given.bfloat16().float()
    assert torch.equal(step(reduction, parameter, given), bf16)
    resumed, other = bound(config)
    resumed.load_state_dict(reduction.state_dict())
    assert torch.equal(step(resumed, other, given), bf16)
    assert not torch.equal(step(resumed, other, given), bf16)


def test_a_matrix_of_low_rank_is_sent_as_it_is(bound) -> None:
    """Vogels et al.: a power iteration finds a matrix whose rank is not above its own."""
    reduction, parameter = bound(PowerSgdConfig(algorithm="powersgd", rank=4))
    generator = torch.Generator().manual_seed(0)
    given = torch.randn(80, 3, generator=generator) @ torch.randn(3, 64, generator=generator)
    got = step(reduction, parameter, given)
    assert float((got - given).norm() / given.norm()) < 0.02  # the thin matrices have 8 bits


@pytest.mark.parametrize(
    ("shape", "columns"),
    [((1000, 1000), 141), ((96, 384), 21), ((4096,), 0), ((60, 60), 0), ((256, 3, 3, 3), 6)],
)
def test_the_byte_share_decides_the_width(shape: tuple[int, ...], columns: int) -> None:
    """By hand: 0.075 · 4 · mn ÷ ((m + n) · 1.0625), rounded down."""
    assert Width(None, 0.075).of(shape) == columns


def test_a_matrix_that_a_fixed_rank_hardly_makes_smaller_is_left_alone() -> None:
    assert Width(64, 0.075).of((128, 128)) == 0
    assert Width(4, 0.075).of((128, 128)) == 4
    assert isinstance(make_reduction(PowerSgdConfig(algorithm="powersgd", rank=2)), PowerSgd)
