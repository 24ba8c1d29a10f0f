"""Gradient reductions on made-up buckets, in a process group of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from torch._C._distributed_c10d import HashStore

from seedance_ops.training.compression.base import (
    Bound,
    GradientReduction,
    ring_all_reduce_bytes,
)
from seedance_ops.training.compression.config import (
    Bf16Config,
    CompressionConfig,
    DenseConfig,
    Fp16Config,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.dense import Dense
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.compression.half_precision import HalfPrecision
from seedance_ops.training.compression.owner_mean import owner_mean_bytes
from seedance_ops.training.compression.sparse_layout import entries_for
from seedance_ops.training.compression.switches import compression_from_switches, refuse_contradiction
from seedance_ops.training.errors import ConfigurationError

GRADIENTS = st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=60)
CPU = torch.device("cpu")
RATIOS = st.floats(0.01, 1.0)


@dataclass
class FakeBucket:
    """One bucket of flat parameters."""

    tensors: dict[str, torch.Tensor]
    position: int = 0
    holders: dict[str, torch.Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._buffer = torch.cat(list(self.tensors.values()))
        self.holders = self.holders or {name: torch.empty_like(t) for name, t in self.tensors.items()}

    def index(self) -> int:
        return self.position

    def buffer(self) -> torch.Tensor:
        return self._buffer

    def gradients(self) -> list[torch.Tensor]:
        return list(self._buffer.split([tensor.numel() for tensor in self.tensors.values()]))

    def parameters(self) -> list[torch.Tensor]:
        return list(self.holders.values())

    def names(self) -> Mapping[int, str]:
        return {id(holder): name for name, holder in self.holders.items()}


@pytest.fixture(scope="module", autouse=True)
def group_of_one() -> Iterator[None]:
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def reduced(reduction: GradientReduction, bucket: FakeBucket) -> torch.Tensor:
    reduction.bind(Bound(bucket.names(), CPU))
    return reduction.reduce(bucket).future.wait()


@given(st.integers(1, 10**7), RATIOS)
def test_at_least_one_entry_and_never_more_than_there_are(size: int, ratio: float) -> None:
    assert 1 <= entries_for(size, ratio) <= size


def test_a_decimal_ratio_is_not_rounded_up_by_binary_noise() -> None:
    assert entries_for(100, 0.07) == 7
    assert entries_for(3, 0.01) == 1


@given(st.integers(1, 10**6), st.integers(1, 64))
def test_the_declared_formulas_of_rings(size: int, ranks: int) -> None:
    assert Dense().declared_bytes([[size]], ranks) == round(8 * size * (ranks - 1) / ranks)
    assert HalfPrecision.bf16().declared_bytes([[size]], ranks) == round(4 * size * (ranks - 1) / ranks)


MODEL = [[768, 3072], [3072, 768], [768, 2304], [768, 768], [50257, 768], [768], [3072]]
"""Shapes of a transformer of GPT-2's size."""


@pytest.mark.parametrize(
    ("algorithm", "least_saving"),
    [
        ({"algorithm": "topk_error_feedback", "k_ratio": 0.01}, 0.97),
        ({"algorithm": "quantized_error_feedback"}, 0.92),
        ({"algorithm": "powersgd"}, 0.92),
    ],
)
@pytest.mark.parametrize("ranks", [2, 8, 128, 1024])
def test_what_is_saved_does_not_depend_on_the_number_of_ranks(
    algorithm: dict[str, object], least_saving: float, ranks: int
) -> None:
    """R1.4: at 128 ranks too, where an all-gather of (index, value) pairs sends more than a dense ring."""
    config: CompressionConfig = TypeAdapter(CompressionConfig).validate_python(algorithm)
    sent = make_reduction(config).declared_bytes(MODEL, ranks)
    assert sent <= (1 - least_saving) * Dense().declared_bytes(MODEL, ranks)


def test_top_k_sends_92_percent_less_than_bf16_at_128_ranks() -> None:
    topk = make_reduction(TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.01))
    assert topk.declared_bytes(MODEL, 128) <= 0.08 * HalfPrecision.bf16().declared_bytes(MODEL, 128)


def test_a_ring_and_an_all_gather_by_hand() -> None:
    assert ring_all_reduce_bytes(160, 2) == 160
    assert owner_mean_bytes(40, 3) == 160


def test_bf16_rounds_and_nothing_else() -> None:
    gradient = torch.tensor([1.0, 1.00390625, -3.0e38])
    got = reduced(HalfPrecision.bf16(), FakeBucket({"w": gradient.clone()}))
    assert torch.equal(got, gradient.to(torch.bfloat16).float())


def test_fp16_is_the_more_precise_and_shows_an_overflow() -> None:
    gradient = torch.tensor([1.0009765625, 65504.0, 1e5, -1e5])  # 1 + 2^-10 has too many digits for bf16
    got = reduced(HalfPrecision.fp16(), FakeBucket({"w": gradient.clone()}))
    assert got.tolist() == [1.0009765625, 65504.0, float("inf"), float("-inf")]


def test_every_configuration_has_its_reduction() -> None:
    configs = [DenseConfig(), Bf16Config(algorithm="bf16"), Fp16Config(algorithm="fp16")]
    topk = TopKErrorFeedbackConfig(algorithm="topk_error_feedback")
    assert [make_reduction(config).name for config in (*configs, topk)] == [
        "dense",
        "bf16",
        "fp16",
        "topk_error_feedback",
    ]


ON = {"SEEDANCE_COMPRESS_GRADIENTS": "1"}
PLANNED = TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.05)


def test_the_switches_count_where_there_is_no_plan() -> None:
    assert compression_from_switches({}) == DenseConfig()
    assert compression_from_switches({"SEEDANCE_COMPRESS_GRADIENTS": "0"}) == DenseConfig()
    assert compression_from_switches(ON).algorithm == "topk_error_feedback"
    assert compression_from_switches(ON | {"SEEDANCE_COMPRESS_K_RATIO": "0.05"}) == PLANNED


@pytest.mark.parametrize("ratio", ["0", "1.5", "nan", "inf", "", "a lot", "-0.1"])
def test_a_ratio_that_is_none_is_refused(ratio: str) -> None:
    with pytest.raises(ConfigurationError, match="SEEDANCE_COMPRESS_K_RATIO"):
        compression_from_switches(ON | {"SEEDANCE_COMPRESS_K_RATIO": ratio})


def test_a_misspelt_switch_is_named() -> None:
    with pytest.raises(ConfigurationError, match="did you mean SEEDANCE_COMPRESS_GRADIENTS"):
        compression_from_switches({"SEEDANCE_COMPRESS_GRADIENT": "1"})
    with pytest.raises(ConfigurationError, match="unknown switch SEEDANCE_COMPRESSION_K_RATIO"):
        compression_from_switches({"SEEDANCE_COMPRESSION_K_RATIO": "0.1"})


def test_a_switch_that_agrees_with_the_plan_is_fine() -> None:
    refuse_contradiction(PLANNED, ON | {"SEEDANCE_COMPRESS_K_RATIO": "0.05"})
    refuse_contradiction(DenseConfig(), {"SEEDANCE_COMPRESS_GRADIENTS": "0"})


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"SEEDANCE_COMPRESS_GRADIENTS": "0"}, "algorithm=topk_error_feedback"),
        (ON | {"SEEDANCE_COMPRESS_K_RATIO": "0.01"}, "k_ratio=0.05"),
    ],
)
def test_a_switch_that_differs_from_the_plan_is_an_error_that_names_both(
    environ: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        refuse_contradiction(PLANNED, environ)
    assert "SEEDANCE_COMPRESS_" in str(caught.value)


def test_a_switch_against_a_dense_plan_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="algorithm=dense"):
        refuse_contradiction(DenseConfig(), ON)
    with pytest.raises(ConfigurationError, match="algorithm=dense"):
        refuse_contradiction(DenseConfig(), {"SEEDANCE_COMPRESS_K_RATIO": "0.05"})
