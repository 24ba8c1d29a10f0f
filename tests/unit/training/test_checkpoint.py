"""What a checkpoint file holds, which checkpoints stay, and when one counts."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import ObjectExists
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.config import KeepBest, KeepPolicy
from seedance_ops.training.checkpoint.manifest import CheckpointFile, CheckpointManifest
from seedance_ops.training.checkpoint.outline import Outline, assemble
from seedance_ops.training.checkpoint.retention import superfluous
from seedance_ops.training.checkpoint.shard_format import ALIGNMENT, ShardContent, ShardLayout
from seedance_ops.training.errors import CheckpointError, Superseded
from seedance_ops.training.randomness import random_state, restore_random_state, seed_all

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.integers() | st.text(max_size=3) | st.booleans(), inner, max_size=3)
    ),
    max_leaves=12,
)


def same(a: Any, b: Any) -> bool:
    """Equal in value and type, NaN included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(k, j) and same(v, w) for (k, v), (j, w) in zip(a.items(), b.items(), strict=True)
        )
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def written(tree: Any) -> bytearray:
    """The bytes of a shard with this content."""
    outline = Outline.of(tree, "t")
    layout = ShardLayout.plan(outline.tensors, outline.tree)
    data = bytearray(layout.total_bytes)
    layout.stage(memoryview(data))
    return data


def read(data: bytearray) -> Any:
    content = ShardContent.parse(memoryview(data))
    return assemble(content.tree, lambda name: content.tensors[name])


@settings(max_examples=80, deadline=None)
@given(TREES)
def test_plain_values_come_back_as_they_were(tree: Any) -> None:
    assert same(read(written({"tree": tree}))["tree"], tree)


def test_an_optimiser_comes_back_bit_by_bit() -> None:
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    state = read(written(optimizer.state_dict()))
    assert state["param_groups"] == optimizer.state_dict()["param_groups"]
    for key, value in optimizer.state_dict()["state"].items():
        for name, tensor in value.items():
            assert torch.equal(state["state"][key][name], tensor)


def test_tied_weights_and_views_are_stored() -> None:
    base = torch.arange(12.0)
    tree = {"a": base, "tied": base, "row": base.view(3, 4)[1], "turned": base.view(3, 4).T, "none": base[:0]}
    data = written(tree)
    back = read(data)
    assert all(torch.equal(back[name], tensor) for name, tensor in tree.items())
    assert len(data) == ALIGNMENT + (12 + 4 + 12) * 4, "tied weights once"


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.bool, torch.int64, torch.complex64]
)
def test_elements_of_every_kind_come_back_bit_by_bit(dtype: torch.dtype) -> None:
    bits = torch.randint(0, 2, (5, 16), dtype=torch.uint8)
    tensor = bits.view(dtype)
    back = read(written({"x": tensor, "scalar": torch.tensor(True)}))
    assert back["x"].dtype == dtype
    assert torch.equal(back["x"].view(torch.uint8), bits)
    assert back["scalar"].shape == ()


def test_keys_that_differ_in_kind_alone_keep_their_tensors() -> None:
    back = read(written({2: torch.tensor([1.0]), "2": torch.tensor([2.0])}))
    assert (back[2], back["2"]) == (torch.tensor([1.0]), torch.tensor([2.0]))


def test_other_programs_read_it() -> None:
    """The format is that of safetensors, by Hugging Face's own reader."""
    from safetensors.torch import load

    weights = {"w": torch.randn(3, 5), "n": torch.arange(7), "h": torch.randn(2).half()}
    found = load(bytes(written(weights)))
    assert {name.removeprefix("t."): tensor.tolist() for name, tensor in found.items()} == {
        name: tensor.tolist() for name, tensor in weights.items()
    }


def test_what_cannot_be_stored_is_named() -> None:
    with pytest.raises(CheckpointError, match=r"t\.opaque is a object"):
        written({"opaque": object()})
    with pytest.raises(CheckpointError, match=r"t\.sparse is .*: Tensor, torch\.sparse_coo"):
        written({"sparse": torch.eye(3).to_sparse()})


def test_a_torn_file_is_no_checkpoint() -> None:
    data = written({"a": torch.arange(100), "b": torch.arange(3.0)})
    for length in (0, 5, 100, ALIGNMENT, len(data) - 8):
        with pytest.raises(CheckpointError):
            ShardContent.parse(memoryview(data)[:length])


def _forged(head: object) -> bytearray:
    text = json.dumps(head).encode()
    return bytearray(len(text).to_bytes(8, "little") + text + bytes(64))


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [4], "data_offsets": [0, 1 << 40]},
        {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 64]},
        {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [2**32, 2**32], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [4], "data_offsets": [-16, 0]},
        {"dtype": "F32", "shape": [4], "data_offsets": [32, 16]},
        {"dtype": "PICKLE", "shape": [4], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": "4", "data_offsets": [0]},
        {"dtype": "F32", "shape": [4], "data_offsets": [1, 17]},
        "F32",
    ],
)
def test_a_hostile_header_is_refused(entry: object) -> None:
    metadata = {"seedance.tree": "null"}
    with pytest.raises(CheckpointError, match="no checkpoint file"):
        ShardContent.parse(memoryview(_forged({"__metadata__": metadata, "x": entry})))


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "tensor", "name": "somebody.elses"},
        {"$": "builtins.eval", "items": []},
        {"$": "mapping", "items": [[{"$": "list", "items": []}, 1]]},
        {"$": "float", "text": "__import__"},
        {"no": "tag"},
    ],
)
def test_a_hostile_outline_is_refused(tree: object) -> None:
    with pytest.raises(CheckpointError, match="not valid"):
        assemble(tree, {"x": torch.ones(1)}.__getitem__)


def test_random_numbers_continue_where_they_were() -> None:
    import random

    import numpy as np

    def draw() -> tuple[float, float, float, float]:
        return random.random(), random.gauss(0, 1), float(np.random.normal()), float(torch.rand(()))

    seed_all(5, rank=1)
    draw()
    kept = written(random_state())
    expected = draw(), draw()
    seed_all(6)
    restore_random_state(read(kept))
    assert (draw(), draw()) == expected


def manifest(step: int, *, submission: int = 1, job_hash: str = "h", final: bool = False, **metrics: float) -> CheckpointManifest:  # fmt: skip  # noqa: E501
    return CheckpointManifest(
        job_hash=job_hash,
        step=step,
        samples_seen=step,
        world_size=1,
        submission=submission,
        epoch=1,
        final=final,
        train_elapsed_s=0.0,
        metrics=metrics,
        written_at_s=0.0,
        files=(CheckpointFile.describe("common-0000.safetensors", memoryview(b"x")),),
    )


def kept(policy: KeepPolicy, *manifests: CheckpointManifest) -> list[int]:
    gone = superfluous(manifests, policy)
    return [each.step for each in manifests if each not in gone]


def test_the_newest_stay() -> None:
    assert kept(KeepPolicy(last=2), *(manifest(step) for step in (1, 2, 3, 4))) == [3, 4]


def test_the_best_stays_in_the_metrics_own_direction() -> None:
    history = [manifest(1, loss=2.0), manifest(2, loss=1.0), manifest(3, loss=3.0), manifest(4)]
    lowest, highest = (KeepBest(metric="loss", better=better) for better in ("lower", "higher"))
    assert kept(KeepPolicy(last=1, best=lowest), *history) == [2, 4]
    assert kept(KeepPolicy(last=1, best=highest), *history) == [3, 4]


def test_the_final_one_stays_where_the_policy_says_so() -> None:
    history = [manifest(1, final=True), manifest(2), manifest(3)]
    assert kept(KeepPolicy(last=1), *history) == [1, 3]
    assert kept(KeepPolicy(last=1, final=False), *history) == [3]


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 3)), unique=True, min_size=1), st.integers(1, 4))
def test_the_newest_is_never_deleted(ages: list[tuple[int, int]], last: int) -> None:
    manifests = [manifest(step, submission=submission) for step, submission in ages]
    gone = superfluous(manifests, KeepPolicy(last=last))
    assert max(ages) not in [(each.step, each.submission) for each in gone]


def test_another_jobs_and_unreadable_checkpoints_are_passed_over(store: ObjectStore) -> None:
    catalogue = CheckpointCatalogue(store, "h", 1)
    catalogue.claim()
    for each in (manifest(2), manifest(1), manifest(3, job_hash="other")):
        catalogue.commit(each)
    store.put("checkpoints/step-00000009/submission-001-epoch-001/manifest.json", b"{")
    assert [each.step for each in catalogue.committed()] == [1, 2]


@given(st.integers(0, 100_000), st.integers(0, 7))
def test_a_manifest_that_lost_a_bit_is_no_manifest(place: int, bit: int) -> None:
    text = bytearray(manifest(1, loss=0.25).model_dump_json().encode())
    text[place % len(text)] ^= 1 << bit
    try:
        found = CheckpointManifest.model_validate_json(bytes(text))
    except ValidationError:
        return
    assert found == manifest(1, loss=0.25), "the bit has changed nothing that counts"


def test_a_checkpoint_is_committed_once(store: ObjectStore) -> None:
    catalogue = CheckpointCatalogue(store, "h", 1)
    catalogue.claim()
    catalogue.commit(manifest(1))
    with pytest.raises(Superseded, match="somebody else has decided"):
        catalogue.commit(manifest(1, final=True))
    catalogue.commit(manifest(1))  # whose first answer was lost, say


def test_an_earlier_submission_cannot_commit_after_a_later_one_has_started(store: ObjectStore) -> None:
    first, second = CheckpointCatalogue(store, "h", 1), CheckpointCatalogue(store, "h", 2)
    first.claim()
    second.claim()
    with pytest.raises(Superseded, match="submission 2"):
        first.commit(manifest(1))
    second.commit(manifest(1, submission=2))
    with pytest.raises(Superseded):
        CheckpointCatalogue(store, "h", 1).claim()


def test_a_second_start_of_one_submission_takes_over_from_the_first(store: ObjectStore) -> None:
    """torchrun starts processes anew, and a launcher may believe that it has not started any."""
    first, second = CheckpointCatalogue(store, "h", 7), CheckpointCatalogue(store, "h", 7)
    assert (first.claim().epoch, second.claim().epoch) == (1, 2)
    with pytest.raises(Superseded, match="start 2"):
        first.commit(manifest(1, submission=7))


def test_what_was_never_finished_is_deleted_and_can_not_count_later(store: ObjectStore) -> None:
    first = CheckpointCatalogue(store, "h", 1)
    first.claim()
    shard = f"{manifest(5).folder}/common-0000.safetensors"
    store.put(shard, b"half")
    second = CheckpointCatalogue(store, "h", 2)
    second.claim()
    assert shard not in store.list()
    assert second.committed() == []
    late = manifest(5).model_dump_json(indent=1).encode()
    with pytest.raises(ObjectExists):  # the first has looked at the fences before, and is slow
        store.put(f"{manifest(5).folder}/manifest.json", late, if_absent=True)


def test_a_deleted_checkpoint_leaves_nothing(store: ObjectStore) -> None:
    catalogue = CheckpointCatalogue(store, "h", 1)
    catalogue.claim()
    store.put("checkpoints/step-00000001/submission-001-epoch-001/common-0000.safetensors", b"x")
    catalogue.commit(manifest(1))
    catalogue.delete(manifest(1))
    assert store.list("checkpoints/step-") == []
