"""A checkpoint in a folder: verified, copied, exported for others; and hostile ones, refused."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, load_model

from seedance_ops.training.checkpoint import verifying
from seedance_ops.training.checkpoint.digests import CHUNK_BYTES
from seedance_ops.training.checkpoint.exporting import export
from seedance_ops.training.checkpoint.manifest import MANIFEST, CheckpointFile
from seedance_ops.training.checkpoint.pulling import pull
from seedance_ops.training.checkpoint.shard_source import PulledShards
from seedance_ops.training.checkpoint.verifying import verify
from seedance_ops.training.errors import CheckpointError
from tests.written_checkpoint import TiedModel, manifest_of, shards_of, trained, write_folder


def nothing(moved_bytes: int) -> None:
    """Told of progress."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shards = shards_of(*trained())
    write_folder(tmp_path / "pulled", shards, manifest_of(shards, 7))
    return tmp_path / "pulled"


def damage(folder: Path) -> dict[str, str]:
    source = PulledShards(folder)
    return {each.file: each.problem for each in verify(source.manifest(), source, nothing)}


def test_a_whole_checkpoint_verifies_and_every_byte_is_counted(folder: Path) -> None:
    source = PulledShards(folder)
    moved: list[int] = []
    assert verify(source.manifest(), source, moved.append) == []
    assert sum(moved) == sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def test_any_flipped_bit_is_found_in_the_file_that_has_it(folder: Path) -> None:
    for path in sorted(folder.glob("*.safetensors")):
        whole = path.read_bytes()
        for at in (0, 9, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
            assert list(damage(folder)) == [path.name], at
        path.write_bytes(whole)


def test_missing_cut_and_longer_files_are_named(folder: Path) -> None:
    first, second, third, _ = sorted(folder.glob("*.safetensors"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:-1])
    third.write_bytes(third.read_bytes() + b"x")
    found = damage(folder)
    assert found[first.name] == "it is missing"
    assert "bytes, and the manifest says" in found[second.name]
    assert "bytes, and the manifest says" in found[third.name]
    assert len(found) == 3


def test_a_pipe_in_a_shards_place_is_missing_and_not_waited_for(folder: Path) -> None:
    path = next(folder.glob("rank-0000*"))
    path.unlink()
    os.mkfifo(path)
    assert damage(folder) == {path.name: "it is missing"}


def test_blake3_stands_behind_the_checksums(folder: Path) -> None:
    """A forger can make CRC32C fit; the manifest's BLAKE3 still tells."""
    source = PulledShards(folder)
    manifest = source.manifest()
    name = "rank-0001.safetensors"
    forged = bytearray((folder / name).read_bytes())
    forged[-1] ^= 1
    (folder / name).write_bytes(forged)
    fitting = CheckpointFile.describe(name, memoryview(forged)).crc32c
    files = tuple(
        file.model_copy(update={"crc32c": fitting}) if file.name == name else file for file in manifest.files
    )
    [found] = verify(manifest.changed(files=files), source, nothing)
    assert (found.file, "BLAKE3" in found.problem) == (name, True)


class _Zeros:
    """A shard as large as one likes, of zeros."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes

    def size(self, name: str) -> int:
        return self.size_bytes

    def read(self, name: str, begin: int, into: memoryview) -> None:
        into[:] = bytes(len(into))


def test_memory_is_bounded_whatever_a_shards_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "WINDOW_BYTES", 2 * CHUNK_BYTES)
    size_bytes = 6 * CHUNK_BYTES + 5
    file = CheckpointFile.describe("rank-0000.safetensors", memoryview(bytes(size_bytes)))
    tracemalloc.start()
    with pytest.raises(
        CheckpointError, match="no checkpoint file"
    ):  # all digests fit: it was read to the end
        verifying.stream(file, _Zeros(size_bytes), nothing)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 5 * CHUNK_BYTES


def rewritten(folder: Path, **changes: Any) -> None:
    document = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**document, "seal": None, **changes}))


def with_file(folder: Path, **changes: Any) -> None:
    files = json.loads((folder / MANIFEST).read_text())["files"]
    rewritten(folder, files=[{**files[0], **changes}, *files[1:]])


@pytest.mark.parametrize(
    "name",
    [
        "../../escaped",
        "/etc/passwd",
        "a/rank-0000.safetensors",
        "rank-0000.safetensors\n",
        "manifest.json",
        "",
    ],
)
def test_a_manifest_whose_file_lies_elsewhere_is_refused(folder: Path, name: str) -> None:
    with_file(folder, name=name)
    with pytest.raises(CheckpointError, match=r"files\.0\.name"):
        PulledShards(folder).manifest()


@pytest.mark.parametrize(
    "changes",
    [
        {"bytes": 1 << 60},
        {"bytes": -1},
        {"bytes": 1 << 49},
        {"chunk_bytes": 1},
        {"blake3": "zz"},
        {"crc32c": "x"},
    ],
)
def test_a_manifest_with_impossible_sizes_is_refused(folder: Path, changes: dict[str, Any]) -> None:
    with_file(folder, **changes)
    with pytest.raises(CheckpointError, match=r"files\.0|checksums for"):
        PulledShards(folder).manifest()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "\x00", "[" * 100_000, '{"schema_version": 99}', '{"step": 1e999}']
)
def test_what_is_no_manifest_is_refused(folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text)
    with pytest.raises(CheckpointError, match="manifest"):
        PulledShards(folder).manifest()


def test_a_file_named_twice_is_refused(folder: Path) -> None:
    files = json.loads((folder / MANIFEST).read_text())["files"]
    rewritten(folder, files=[*files, files[0]])
    with pytest.raises(CheckpointError, match="named twice"):
        PulledShards(folder).manifest()


def test_a_manifest_that_leaves_ranks_out_is_damaged(folder: Path) -> None:
    rewritten(folder, world_size=10**15)
    assert "2 rank-….safetensors for 1000000000000000 ranks" in damage(folder)[MANIFEST]
    files = json.loads((folder / MANIFEST).read_text())["files"]
    rewritten(folder, files=[file for file in files if file["name"].startswith("rank-")], world_size=2)
    assert "common" in damage(folder)[MANIFEST]


def forged_shard(tree: Any, **entries: Any) -> bytes:
    head = json.dumps({"__metadata__": {"seedance.tree": json.dumps(tree)}, **entries}).encode()
    return len(head).to_bytes(8, "little") + head + bytes(64)


MODEL = {"$": "mapping", "items": [["model", {"$": "mapping", "items": []}], ["optimizer", 1]]}


def with_tensor(dtype: str, shape: list[int], offsets: list[int]) -> bytes:
    return forged_shard(MODEL, x={"dtype": dtype, "shape": shape, "data_offsets": offsets})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (with_tensor("PICKLE", [4], [0, 16]), "PICKLE"),
        (with_tensor("F64", [4], [0, 16]), "not its shape"),
        (with_tensor("F32", [1 << 62], [0, 16]), "not its shape"),
        (with_tensor("F32", [0, 1 << 99], [0, 0]), "not its shape"),
        (with_tensor("F32", [4], [1 << 40, 1 << 41]), "lies at"),
        (forged_shard({"$": "tensor", "name": "elsewhere"}), "elsewhere"),
        (forged_shard({"$": "os.system", "items": []}), "os.system"),
        (forged_shard([]), "does not hold a model"),
        ((1 << 62).to_bytes(8, "little") + bytes(64), "a header of"),
        (b"\x01", "a header of"),
    ],
)  # fmt: skip
def test_a_hostile_shard_with_fitting_digests_is_named(folder: Path, content: bytes, says: str) -> None:
    shards = {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}
    shards["common-0000.safetensors"] = content
    (folder / "common-0000.safetensors").write_bytes(content)
    (folder / MANIFEST).write_text(manifest_of(shards, 7).model_dump_json())
    assert says in damage(folder)["common-0000.safetensors"]


def test_what_was_pulled_is_the_same_and_verifies(folder: Path, tmp_path: Path) -> None:
    source = PulledShards(folder)
    pull(source.manifest(), source, tmp_path / "new" / "copy", nothing)
    names = sorted(path.name for path in folder.iterdir())
    assert sorted(path.name for path in (tmp_path / "new" / "copy").iterdir()) == names
    assert damage(tmp_path / "new" / "copy") == {}


def test_what_was_not_whole_is_not_taken_for_a_checkpoint(folder: Path, tmp_path: Path) -> None:
    path = folder / "rank-0001.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    source = PulledShards(folder)
    with pytest.raises(CheckpointError, match=r"rank-0001\.safetensors: its bytes from 0 on"):
        pull(source.manifest(), source, tmp_path / "copy", nothing)
    assert not list((tmp_path / "copy").glob("*rank-0001*")), "no draft stays"
    with pytest.raises(CheckpointError, match=r"holds no manifest\.json"):
        PulledShards(tmp_path / "copy").manifest()


def test_a_folder_that_holds_something_is_not_written_to(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    source = PulledShards(folder)
    with pytest.raises(CheckpointError, match="not empty"):
        pull(source.manifest(), source, tmp_path / "mine", nothing)
    with pytest.raises(CheckpointError, match="no folder"):
        pull(source.manifest(), source, tmp_path / "mine" / "notes", nothing)


def test_plain_safetensors_loads_the_model(folder: Path, tmp_path: Path) -> None:
    model, _ = trained()
    done = export(PulledShards(folder).manifest(), folder, tmp_path / "out", "safetensors")
    path = tmp_path / "out" / "model.safetensors"
    found = load_file(path)
    expected = model.state_dict()
    assert done.tied == {"head.weight": "embed.weight"}
    assert set(found) == set(expected) - {"head.weight"}
    assert all(torch.equal(found[name], expected[name]) for name in found)
    torch.manual_seed(99)
    fresh = TiedModel()
    assert load_model(fresh, path) == (set(), [])
    tokens = torch.arange(17)
    assert torch.equal(fresh.eval()(tokens), model.eval()(tokens))
    assert set(done.left_out) == {"optimizer", "extra", "reduction"}


def test_plain_dcp_loads_model_and_optimizer(folder: Path, tmp_path: Path) -> None:
    from torch.distributed import checkpoint

    export(PulledShards(folder).manifest(), folder, tmp_path / "out", "dcp")
    model, optimizer = trained()
    other, other_optimizer = trained(seed=5)
    state = {"model": other.state_dict(), "optimizer": other_optimizer.state_dict()}
    checkpoint.load(state, checkpoint_id=tmp_path / "out", no_dist=True)
    other.load_state_dict(state["model"])
    other_optimizer.load_state_dict(state["optimizer"])
    for each, its in ((model, optimizer), (other, other_optimizer)):
        its.zero_grad()
        each(torch.arange(17)).logsumexp(-1).sum().backward()
        its.step()
    for name, value in model.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name


def test_an_export_that_fails_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import safetensors.torch

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(OSError, match="No space"):
        export(PulledShards(folder).manifest(), folder, tmp_path / "out", "safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["pulled"]
