"""Gradient reductions on made-up buckets, in a process group of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._C._distributed_c10d import HashStore

from seedance_ops.training.compression.base import (
    Bound,
    GradientReduction,
    all_gather_bytes,
    ring_all_reduce_bytes,
)
from seedance_ops.training.compression.config import (
    Bf16Config,
    DenseConfig,
    Fp16Config,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.dense import Dense
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.compression.half_precision import HalfPrecision
from seedance_ops.training.compression.sparse import (
    ENTRY_BYTES,
    entries_for,
    mean_of,
    pack,
    select_largest,
    unpack,
)
from seedance_ops.training.compression.switches import compression_from_switches, refuse_contradiction
from seedance_ops.training.compression.topk_error_feedback import TopKErrorFeedback
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


@settings(max_examples=60, deadline=None)
@given(st.lists(GRADIENTS, min_size=1, max_size=4), RATIOS)
def test_sent_plus_residual_is_the_gradient_plus_the_old_residual_exactly(
    steps: list[list[float]], ratio: float
) -> None:
    size = min(len(values) for values in steps)
    topk = TopKErrorFeedback(k_ratio=ratio)
    holders = {"w": torch.empty(size)}
    residual = torch.zeros(size)
    for values in steps:
        gradient = torch.tensor(values[:size])
        bucket = FakeBucket({"w": gradient}, holders=holders)
        sent = reduced(topk, bucket).clone()
        left = topk.state_dict()["w"]
        assert torch.equal(sent + left, residual + gradient)
        assert not bool(((sent != 0) & (left != 0)).any())
        residual = left


@given(GRADIENTS, RATIOS)
def test_what_is_sent_is_the_largest(values: list[float], ratio: float) -> None:
    gradient = torch.tensor(values)
    k = entries_for(len(values), ratio)
    chosen = select_largest(gradient, k)
    assert len(set(chosen.tolist())) == k
    rest = torch.ones(len(values), dtype=torch.bool)
    rest[chosen] = False
    if rest.any():
        assert gradient[chosen].abs().min() >= gradient[rest].abs().max()


@given(st.integers(1, 10**7), RATIOS)
def test_at_least_one_entry_and_never_more_than_there_are(size: int, ratio: float) -> None:
    assert 1 <= entries_for(size, ratio) <= size


def test_a_decimal_ratio_is_not_rounded_up_by_binary_noise() -> None:
    assert entries_for(100, 0.07) == 7
    assert entries_for(3, 0.01) == 1


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=20))
def test_a_payload_unpacks_to_the_same_bits(values: list[float]) -> None:
    indices, tensor = torch.arange(len(values)), torch.tensor(values, dtype=torch.float32)
    payload = pack(indices, tensor)
    assert payload.nbytes == ENTRY_BYTES * len(values)
    got_indices, got = unpack(payload)
    assert torch.equal(got_indices, indices)
    assert torch.equal(got.view(torch.int32), tensor.view(torch.int32))


def test_the_mean_over_ranks_adds_what_overlaps() -> None:
    out = torch.full((4,), 9.0)
    payloads = [
        pack(torch.tensor([0, 2]), torch.tensor([1.0, 2.0])),
        pack(torch.tensor([2, 3]), torch.tensor([4.0, 8.0])),
    ]
    assert mean_of(payloads, out)
    assert out.tolist() == [0.5, 0.0, 3.0, 4.0]
    assert not mean_of([pack(torch.tensor([1]), torch.tensor([torch.nan]))], out)


def test_the_state_does_not_depend_on_the_buckets() -> None:
    """DDP has other buckets after its first step, and so has a resumed run."""
    torch.manual_seed(0)
    tensors = {"a": torch.randn(30), "b": torch.randn(50)}
    holders = {name: torch.empty_like(tensor) for name, tensor in tensors.items()}
    together, apart = TopKErrorFeedback(k_ratio=0.1), TopKErrorFeedback(k_ratio=0.1)
    whole = FakeBucket(tensors, holders=holders)
    one = reduced(together, whole).clone()
    apart.bind(Bound(whole.names(), CPU))
    parts = [
        apart.reduce(FakeBucket({name: tensors[name]}, position, {name: holders[name]})).future.wait()
        for position, name in enumerate(("b", "a"))
    ]
    assert torch.equal(one, torch.cat([parts[1], parts[0]]))
    for name, residual in together.state_dict().items():
        assert torch.equal(residual, apart.state_dict()[name])


def test_without_error_accumulation_nothing_is_remembered() -> None:
    topk = TopKErrorFeedback(k_ratio=0.1, error_accumulation=False)
    reduced(topk, FakeBucket({"w": torch.arange(10.0)}))
    assert topk.state_dict() == {}


@pytest.mark.parametrize("poison", [torch.inf, -torch.inf, torch.nan])
def test_a_gradient_that_is_not_finite_goes_through_and_leaves_the_residual(poison: float) -> None:
    topk = TopKErrorFeedback(k_ratio=0.1)
    holders = {"w": torch.empty(20)}
    reduced(topk, FakeBucket({"w": torch.arange(20.0)}, holders=holders))
    before = topk.state_dict()["w"].clone()
    bad = torch.ones(20)
    bad[7] = poison
    assert not torch.isfinite(reduced(topk, FakeBucket({"w": bad}, holders=holders))).all()
    assert torch.equal(topk.state_dict()["w"], before)
    assert torch.isfinite(reduced(topk, FakeBucket({"w": torch.ones(20)}, holders=holders))).all()


@given(st.integers(1, 10**6), st.integers(1, 64), RATIOS)
def test_the_declared_formulas(size: int, ranks: int, ratio: float) -> None:
    assert Dense().declared_bytes([[size]], ranks) == round(8 * size * (ranks - 1) / ranks)
    assert HalfPrecision.bf16().declared_bytes([[size]], ranks) == round(4 * size * (ranks - 1) / ranks)
    topk = TopKErrorFeedback(k_ratio=ratio).declared_bytes([[size]], ranks)
    assert topk == 8 * entries_for(size, ratio) * (ranks - 1)


def test_what_is_measured_is_what_is_declared() -> None:
    bucket = FakeBucket({"a": torch.randn(33), "b": torch.randn(7)})
    for reduction in (Dense(), HalfPrecision.bf16(), HalfPrecision.fp16(), TopKErrorFeedback(k_ratio=0.1)):
        reduction.bind(Bound(bucket.names(), CPU))
        assert reduction.reduce(bucket).bytes_sent == reduction.declared_bytes([[33], [7]], 1) == 0
    assert ring_all_reduce_bytes(160, 2) == 160
    assert all_gather_bytes(40, 3) == 80


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
