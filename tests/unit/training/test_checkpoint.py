"""What a checkpoint file holds, which checkpoints stay, and when one counts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import ObjectExists
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.config import KeepBest, KeepPolicy
from seedance_ops.training.checkpoint.encoding import read_tree, write_tree
from seedance_ops.training.checkpoint.manifest import CheckpointFile, CheckpointManifest
from seedance_ops.training.checkpoint.retention import superfluous
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


@settings(max_examples=80, deadline=None)
@given(TREES)
def test_plain_values_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, tree: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "tree.safetensors"
    write_tree(path, {"tree": tree})
    assert same(read_tree(path)["tree"], tree)


def test_an_optimiser_comes_back_bit_by_bit(tmp_path: Path) -> None:
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    write_tree(tmp_path / "o.safetensors", optimizer.state_dict())
    state = read_tree(tmp_path / "o.safetensors")
    assert state["param_groups"] == optimizer.state_dict()["param_groups"]
    for key, value in optimizer.state_dict()["state"].items():
        for name, tensor in value.items():
            assert torch.equal(state["state"][key][name], tensor)


def test_tied_weights_and_views_are_stored(tmp_path: Path) -> None:
    base = torch.arange(12.0)
    tree = {"a": base, "tied": base, "row": base.view(3, 4)[1], "turned": base.view(3, 4).T, "none": base[:0]}
    write_tree(tmp_path / "t.safetensors", tree)
    back = read_tree(tmp_path / "t.safetensors")
    assert all(torch.equal(back[name], tensor) for name, tensor in tree.items())


def test_what_cannot_be_stored_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"t\.opaque is a object"):
        write_tree(tmp_path / "t.safetensors", {"opaque": object()})
    assert list(tmp_path.iterdir()) == []


def test_a_torn_file_is_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    write_tree(path, {"a": torch.arange(100)})
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(CheckpointError, match=r"t\.safetensors"):
        read_tree(path)


def test_random_numbers_continue_where_they_were(tmp_path: Path) -> None:
    import random

    import numpy as np

    def draw() -> tuple[float, float, float, float]:
        return random.random(), random.gauss(0, 1), float(np.random.normal()), float(torch.rand(()))

    seed_all(5, rank=1)
    draw()
    write_tree(tmp_path / "r.safetensors", random_state())
    expected = draw(), draw()
    seed_all(6)
    restore_random_state(read_tree(tmp_path / "r.safetensors"))
    assert (draw(), draw()) == expected


def manifest(step: int, *, submission: int = 1, job_hash: str = "h", final: bool = False, **metrics: float) -> CheckpointManifest:  # fmt: skip  # noqa: E501
    return CheckpointManifest(
        job_hash=job_hash,
        step=step,
        samples_seen=step,
        world_size=1,
        submission=submission,
        final=final,
        train_elapsed_s=0.0,
        metrics=metrics,
        written_at_s=0.0,
        files=(CheckpointFile(name="model.safetensors", bytes=1, sha256="x"),),
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
    assert max(ages) not in [each.age for each in gone]


def test_another_jobs_and_unreadable_checkpoints_are_passed_over(store: ObjectStore) -> None:
    catalogue = CheckpointCatalogue(store, "h", 1)
    catalogue.claim()
    for each in (manifest(2), manifest(1), manifest(3, job_hash="other")):
        catalogue.commit(each)
    store.put("checkpoints/step-00000009/submission-001/manifest.json", b"{")
    assert [each.step for each in catalogue.committed()] == [1, 2]


def test_a_checkpoint_is_committed_once(store: ObjectStore) -> None:
    catalogue = CheckpointCatalogue(store, "h", 1)
    catalogue.claim()
    catalogue.commit(manifest(1))
    with pytest.raises(ObjectExists):
        catalogue.commit(manifest(1, final=True))


def test_an_earlier_submission_cannot_commit_after_a_later_one_has_started(store: ObjectStore) -> None:
    first, second = CheckpointCatalogue(store, "h", 1), CheckpointCatalogue(store, "h", 2)
    first.claim()
    second.claim()
    with pytest.raises(Superseded, match="submission 2"):
        first.commit(manifest(1))
    second.commit(manifest(1, submission=2))
    with pytest.raises(Superseded):
        CheckpointCatalogue(store, "h", 1).claim()


def test_a_deleted_checkpoint_leaves_nothing(store: ObjectStore) -> None:
    catalogue = CheckpointCatalogue(store, "h", 1)
    catalogue.claim()
    store.put("checkpoints/step-00000001/submission-001/model.safetensors", b"x")
    catalogue.commit(manifest(1))
    catalogue.delete(manifest(1))
    assert store.list("checkpoints/step-") == []
