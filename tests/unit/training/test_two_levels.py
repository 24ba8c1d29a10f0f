"""What two levels send and carry, and which ranks they are for; without any ranks."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.training.compression.base import Bound
from seedance_ops.training.compression.config import CompressionConfig, TopKErrorFeedbackConfig
from seedance_ops.training.compression.device import DeviceProfile
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.compression.level_rows import LevelRows
from seedance_ops.training.compression.mixed_precision import MixedPrecision
from seedance_ops.training.compression.owner_reduce import OwnerReduce
from seedance_ops.training.compression.owner_rows import from_rows, to_rows
from seedance_ops.training.compression.two_levels import (
    LevelBytes,
    Node,
    NodePlace,
    ranks_per_node,
    refuse_other_nodes,
)
from seedance_ops.training.errors import CheckpointError, ConfigurationError

CPU = torch.device("cpu")
SHAPES = [[300, 200], [64], [128, 64], [3, 3]]


def placed(reduction: OwnerReduce, shape: torch.Size, rank: int, per_node: int) -> OwnerReduce:
    """As if bound on this rank; what is tested calls no collective."""
    reduction._bound = Bound({}, CPU, shapes={"w": shape})
    place = NodePlace(rank % per_node, per_node)
    reduction._node = Node(place, None, ()) if per_node > 1 else None  # type: ignore[arg-type]
    return reduction


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 60)),
    nodes=st.integers(2, 4),
    per_node=st.integers(1, 4),
    others=st.tuples(st.integers(2, 4), st.integers(1, 4)),
    seed=st.integers(0, 2**20),
)
def test_what_is_owed_is_conserved_for_any_nodes(
    shape: tuple[int, int], nodes: int, per_node: int, others: tuple[int, int], seed: int
) -> None:
    """To 1e-6, against the mean over nodes of what was left out of each node's messages, plus owners'."""
    reduction = OwnerReduce("by owners", LevelRows(5), two_levels=True)
    generator = torch.Generator().manual_seed(seed)
    workers = [torch.randn(shape, generator=generator) for _ in range(nodes)]
    owners = torch.randn(shape, generator=generator)
    expected = torch.stack(workers).double().mean(dim=0) + owners.double()

    owed = torch.zeros(shape, dtype=torch.float64)
    for rank in range(nodes * per_node):
        placed(reduction, torch.Size(shape), rank, per_node)
        node, own = rank // per_node, rank % per_node
        shards = [to_rows(whole, per_node)[own] for whole in (workers[node], owners)]
        reduction._residuals.load_state_dict(
            {"worker.w": to_rows(shards[0], nodes), "owner.w": to_rows(shards[1], nodes)[node].clone()}
        )
        owed += reduction.share_of_owed("w", rank, nodes * per_node).double()
    scale = expected.abs().max()
    assert (owed - expected).abs().max() <= 1e-6 * scale

    for number, each in ((nodes, per_node), others):  # those that flushed, and those that take it up
        carried = torch.zeros(shape, dtype=torch.float64)
        for rank in range(number * each):
            placed(reduction, torch.Size(shape), rank, each)
            reduction._residuals.load_state_dict({})
            reduction.carry("w", owed.float(), number * each)
            carried += reduction.share_of_owed("w", rank, number * each).double()
        assert (carried - expected).abs().max() <= 1e-6 * scale


@given(
    size=st.integers(1, 5000), nodes=st.integers(1, 9), per_node=st.integers(1, 9), fill=st.floats(0.0, 2.0)
)
def test_the_shards_of_a_node_make_up_the_parameter(
    size: int, nodes: int, per_node: int, fill: float
) -> None:
    """And a shard cut for nodes is as long as a row of all ranks: no more is padded than with one level."""
    whole = torch.arange(1.0, size + 1.0)
    places = [NodePlace(rank, per_node) for rank in range(per_node)]
    shards = [place.own(whole, fill) for place in places]
    back, alone = torch.empty(size), torch.empty(size)
    from_rows(torch.stack(shards), back)
    assert torch.equal(back, whole)
    total = torch.zeros(size)
    for place, shard in zip(places, shards, strict=True):
        place.alone(shard, alone)
        total += alone
    assert torch.equal(total, whole)
    assert to_rows(shards[0], nodes).shape[1] == to_rows(whole, nodes * per_node).shape[1]


def test_the_bytes_of_both_levels_are_those_counted_by_hand() -> None:
    """2 nodes of 4: 68,192 elements in turns of 32, three quarters of them there and back in fp32."""
    reduction = make_reduction(
        TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.01, two_levels=True)
    )
    assert isinstance(reduction, OwnerReduce)
    columns = 32 * math.ceil(60_000 / 128) + 32 * math.ceil(8192 / 128) + 32 * math.ceil(73 / 128)
    sent = reduction.bytes_by_level(SHAPES, nodes=2, ranks_per_node=4)
    assert sent.within == 2 * 3 * 4 * columns
    # One peer; the rows of eight ranks, and 16 of the node's 32 small elements a peer as bfloat16.
    row = reduction._codec.row_bytes(7520) + reduction._codec.row_bytes(1024) + 2 * 16
    assert sent.between == 2 * row
    assert reduction.declared_bytes(SHAPES, 8) == 7 * 2 * (row - 2 * 16 + 2 * math.ceil(73 / 8))  # one level


@given(nodes=st.integers(2, 64), per_node=st.integers(2, 16))
def test_between_nodes_goes_one_part_in_l_of_what_goes_there_with_one_level(
    nodes: int, per_node: int
) -> None:
    """Of what is encoded: of one level's n - 1 rows to other ranks n - L leave the node."""
    reduction, matrices = OwnerReduce("by owners", LevelRows(5)), [[300, 200], [128, 64]]
    ranks = nodes * per_node
    one = reduction.bytes_by_level(matrices, ranks)
    assert one.within == 0
    leaving = one.between * (ranks - per_node) // (ranks - 1)
    assert reduction.bytes_by_level(matrices, nodes, per_node).between * per_node == leaving


def test_with_one_rank_a_node_the_bytes_are_those_of_one_level() -> None:
    reduction = OwnerReduce("by owners", LevelRows(5), two_levels=True)
    assert reduction.bytes_by_level(SHAPES, 6) == LevelBytes(0, reduction.declared_bytes(SHAPES, 6))


def places(nodes: int, per_node: int) -> list[tuple[int, int]]:
    return [(per_node, local) for _ in range(nodes) for local in range(per_node)]


@pytest.mark.parametrize(("nodes", "per_node"), [(1, 1), (5, 1), (2, 2), (3, 8)])
def test_equal_nodes_in_a_row_are_taken(nodes: int, per_node: int) -> None:
    assert ranks_per_node(places(nodes, per_node)) == per_node


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (places(2, 2) + places(1, 1), "LOCAL_WORLD_SIZE is 2 on ranks 0, 1, 2, 3, 1 on rank 4"),
        (places(1, 8) + places(2, 4), "8 on ranks 0, 1, 2, 3 and 4 more, 4 on ranks 8, 9, 10, 11 and 4 more"),
        (places(1, 4), "all 4 ranks are on one node (LOCAL_WORLD_SIZE is 4)"),
        (places(2, 4)[:6], "LOCAL_WORLD_SIZE is 4 on all 6 ranks"),
        (places(1, 2)[:1] * 3, "LOCAL_WORLD_SIZE is 2 on all 3 ranks"),
        ([(0, 0)] * 2, "LOCAL_WORLD_SIZE is 0 on all 2 ranks"),
        ([(2, 0), (2, 0), (2, 1), (2, 1)], "of rank 1 LOCAL_RANK is 0, not 1"),
    ],
)
def test_other_ranks_are_refused_and_named(found: list[tuple[int, int]], said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        ranks_per_node(found)
    assert said in str(raised.value)


def test_residuals_that_were_cut_for_other_nodes_are_refused() -> None:
    state = {"worker.w": torch.zeros(4, 32), "owner.w": torch.zeros(32)}
    refuse_other_nodes(state, 4)
    with pytest.raises(CheckpointError, match=r"cut for 4 nodes.* on 2: .*flush_on_save: true"):
        refuse_other_nodes(state, 2)


def test_two_levels_are_for_one_kind_of_device() -> None:
    devices = [DeviceProfile(device="a100"), DeviceProfile(device="mi250x", threshold_scale=0.87)]
    reduction = MixedPrecision(0.01, 0.1, devices, two_levels=True)
    with pytest.raises(ConfigurationError, match=r"profiles of 2 \(a100, mi250x\)"):
        reduction.bind(replace(Bound({}, CPU), local_world_size=2))


def test_only_algorithms_that_code_each_element_have_the_key(compression_models: dict[str, bool]) -> None:
    assert {name for name, has in compression_models.items() if has} == {
        "topk_error_feedback",
        "quantized_error_feedback",
        "mixed_precision",
    }


@pytest.fixture
def compression_models() -> dict[str, bool]:
    """Whether each algorithm's model has the key."""
    models = CompressionConfig.__origin__.__args__  # type: ignore[attr-defined]
    return {
        model.model_fields["algorithm"].annotation.__args__[0]: "two_levels" in model.model_fields
        for model in models
    }
