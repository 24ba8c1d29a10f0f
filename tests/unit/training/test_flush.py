"""What is owed to the mean gradient is the same before and after a flush, for any number of ranks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch._C._distributed_c10d import HashStore

from seedance_ops.training.compression.base import Bound
from seedance_ops.training.compression.config import (
    CompressionConfig,
    MixedPrecisionConfig,
    PowerSgdConfig,
    QuantizedErrorFeedbackConfig,
    RandomKConfig,
    TopKErrorFeedbackConfig,
)
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.compression.flush import FlushOnSave
from seedance_ops.training.compression.level_rows import LevelRows
from seedance_ops.training.compression.on_lane import OnLane
from seedance_ops.training.compression.owner_reduce import OwnerReduce
from seedance_ops.training.compression.owner_rows import to_rows
from seedance_ops.training.compression.power_sgd import PowerSgd, Width

CPU = torch.device("cpu")
FLUSHED: list[CompressionConfig] = [
    TopKErrorFeedbackConfig(algorithm="topk_error_feedback", flush_on_save=True),
    QuantizedErrorFeedbackConfig(algorithm="quantized_error_feedback", flush_on_save=True),
    RandomKConfig(algorithm="random_k", flush_on_save=True),
    MixedPrecisionConfig(algorithm="mixed_precision", flush_on_save=True, dense_steps=3),
    PowerSgdConfig(algorithm="powersgd", flush_on_save=True),
]


@pytest.fixture(scope="module", autouse=True)
def group_of_one() -> Iterator[None]:
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def bound() -> Iterator[list[OnLane]]:
    """One that carries what owners left out too, and one that does not."""
    made: list[OnLane] = [OwnerReduce("by owners", LevelRows(5)), PowerSgd(Width(None, 0.1))]
    for reduction in made:
        reduction.bind(Bound({}, CPU))
    yield made
    for reduction in made:
        reduction.close()


@settings(max_examples=60, deadline=None)
@example(shape=(1, 1), ranks=9, others=1, seed=276980, by_owners=True)  # summands that cancel
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    ranks=st.integers(1, 9),
    others=st.integers(1, 9),
    seed=st.integers(0, 2**20),
    by_owners=st.booleans(),
)
def test_what_is_owed_is_conserved(
    bound: list[OnLane], shape: tuple[int, int], ranks: int, others: int, seed: int, *, by_owners: bool
) -> None:
    """To 1e-6 of the largest summand, against the mean of what workers left out plus what owners did."""
    reduction = bound[0] if by_owners else bound[1]
    reduction._bound = Bound({}, CPU, shapes={"w": torch.Size(shape)})
    generator = torch.Generator().manual_seed(seed)
    workers = [torch.randn(shape, generator=generator) for _ in range(ranks)]
    owners = torch.randn(shape, generator=generator) if by_owners else torch.zeros(shape)
    expected = torch.stack(workers).double().mean(dim=0) + owners.double()

    owed = torch.zeros(shape)
    for rank, worker in enumerate(workers):
        state = {"worker.w": reduction.laid_out(worker, ranks)}
        if by_owners:
            state["owner.w"] = to_rows(owners, ranks)[rank].clone()
        reduction.load_state_dict(state)
        assert reduction.owing() == ["w"]
        owed += reduction.share_of_owed("w", rank, ranks)
    scale = max(float(summand.abs().max()) for summand in [*workers, owners])
    assert (owed.double() - expected).abs().max() <= 1e-6 * scale

    for number in (ranks, others):  # the ranks that flushed, and those that take the checkpoint up
        carried = torch.zeros(shape, dtype=torch.float64)
        for rank in range(number):
            reduction.load_state_dict({})
            reduction.carry("w", owed, number)
            carried += reduction.share_of_owed("w", rank, number).double()
        assert (carried - expected).abs().max() <= 1e-6 * scale


@pytest.mark.parametrize("config", FLUSHED, ids=lambda config: config.algorithm)
def test_a_configuration_with_the_key_fits_any_number_of_ranks(config: CompressionConfig) -> None:
    assert make_reduction(config).fits_any_world_size
    assert not make_reduction(config.model_copy(update={"flush_on_save": False})).fits_any_world_size


def test_what_is_saved_is_one_tensor_of_the_parameters_shape_and_comes_back() -> None:
    first, second = (FlushOnSave(OwnerReduce("o", LevelRows(5))) for _ in range(2))
    shape = torch.Size([50, 100])
    for reduction in (first, second):
        reduction.bind(Bound({}, CPU, shapes={"w": shape}))
    left_out = torch.randn(shape)
    first.load_state_dict({"worker.w": to_rows(left_out, 1), "owner.w": torch.zeros(5024)})
    first._apart = True
    done = first.meet()
    assert (done.bytes_sent, done.declared_bytes) == (0, 0)  # one rank
    saved = first.state_dict()
    assert list(saved) == ["flushed.w"]
    assert torch.equal(saved["flushed.w"], left_out)
    second.load_state_dict(saved)
    assert torch.equal(second.state_dict()["flushed.w"], left_out)
    for reduction in (first, second):
        reduction.close()
