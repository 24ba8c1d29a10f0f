"""``seedance checkpoint`` against a real store: what is listed, verified, pulled, put back and cleaned up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner, Result

from seedance_ops.cli.app import app
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import URI_VARIABLE, StorageLocation
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.manifest import Writer, checkpoint_folder
from seedance_ops.training.errors import Superseded
from tests.unit.reporting.conftest import JOB
from tests.unit.reporting.conftest import manifest_of as run_manifest_of
from tests.written_checkpoint import manifest_of, shards_of, store_checkpoint, trained

HASH = "h" * 64


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["checkpoint", *(str(argument) for argument in arguments)])


@pytest.fixture(scope="module")
def shards() -> dict[str, bytes]:
    return shards_of(*trained())


@pytest.fixture
def store(location: StorageLocation) -> ObjectStore:
    return ObjectStore(location)


@pytest.fixture
def uri(store: ObjectStore, shards: dict[str, bytes]) -> str:
    """A training with three committed checkpoints, one unfinished, and one given up."""
    for step in (1, 2, 3):
        store_checkpoint(
            store, shards, manifest_of(shards, step, metrics={"val_loss": 3.0 - step}, final=step == 3)
        )
    store.put("checkpoints/step-00000004/submission-001-epoch-001/rank-0000.safetensors", b"half")
    return store.location.uri


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


def test_ls_says_what_each_is_and_which_is_resumed_from(uri: str, store: ObjectStore) -> None:
    CheckpointCatalogue(store, HASH, 2).claim()
    store.put("checkpoints/step-00000005/submission-002-epoch-001/rank-0000.safetensors", b"half")
    store.put("checkpoints/step-00000006/submission-002-epoch-001/manifest.json", b"{")
    found = rows(invoke("ls", "--uri", uri, "--json"))
    assert [(row["step"], row["state"]) for row in found] == [
        (1, "committed"), (2, "committed"), (3, "committed"),
        (4, "given up"), (5, "unfinished"), (6, "unreadable"),
    ]  # fmt: skip
    assert [row["step"] for row in found if row["resumed_from_next"]] == [3]
    assert [row["step"] for row in found if row["final"]] == [3]
    assert found[0]["metrics"] == {"val_loss": 2.0}
    shown = invoke("ls", "--uri", uri)
    assert "val_loss=0" in shown.stdout
    assert shown.stdout.count("resumes here") == 1


def test_verify_names_what_is_damaged_or_missing(
    uri: str, store: ObjectStore, shards: dict[str, bytes]
) -> None:
    whole = invoke("verify", "--uri", uri)
    assert (whole.exit_code, "3 of 3 checkpoints are whole" in whole.stdout) == (0, True), whole.output
    folder = checkpoint_folder(2, Writer(1, 1))
    name = "rank-0001.safetensors"
    store.put(f"{folder}/{name}", shards[name][:-1] + bytes([shards[name][-1] ^ 1]))
    store.delete(f"{checkpoint_folder(1, Writer(1, 1))}/common-0001.safetensors")
    result = invoke("verify", "--uri", uri, "--json")
    assert result.exit_code == 1
    found = {row["step"]: [each["file"] for each in row["damaged"]] for row in json.loads(result.stdout)}
    assert found == {1: ["common-0001.safetensors"], 2: [name], 3: []}
    assert invoke("verify", "--uri", uri, "--step", 3).exit_code == 0
    assert invoke("verify", "--uri", uri, "--step", 4).exit_code == 2, "nothing is committed there"


def test_what_is_pulled_and_put_back_is_resumed_from(
    uri: str, store: ObjectStore, shards: dict[str, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "pulled"
    assert invoke("pull", folder, "--uri", uri, "--step", 2).exit_code == 0
    assert {path.name: path.read_bytes() for path in folder.glob("*.safetensors")} == shards
    refused = invoke("restore", folder, "--uri", uri)
    assert (refused.exit_code, "newer committed checkpoints (step 3)" in refused.output) == (2, True)
    alive = CheckpointCatalogue(store, HASH, 1)
    alive.claim()
    done = invoke("restore", folder, "--uri", uri, "--force", "newer")
    assert done.exit_code == 0, done.output
    with pytest.raises(Superseded):
        alive.commit(manifest_of(shards, 9, epoch=2))
    following = CheckpointCatalogue(store, HASH, 1)
    following.claim()
    assert [each.step for each in following.committed()] == [1, 2, 2]
    assert following.committed()[-1].epoch == 3
    assert invoke("verify", "--uri", uri).exit_code == 0


def test_a_lost_run_is_put_back_to_an_empty_place(uri: str, store: ObjectStore, tmp_path: Path) -> None:
    assert invoke("pull", tmp_path / "pulled", "--uri", uri).exit_code == 0
    store.delete(*store.list())
    assert invoke("restore", tmp_path / "pulled", "--uri", uri).exit_code == 0
    assert [each.step for each in CheckpointCatalogue(store, HASH, 1).committed()] == [3]


def test_another_jobs_checkpoint_is_put_back_only_when_forced(
    uri: str, location: StorageLocation, shards: dict[str, bytes], tmp_path: Path
) -> None:
    assert invoke("pull", tmp_path / "pulled", "--uri", uri).exit_code == 0
    other = ObjectStore(location.child("other"))
    store_checkpoint(other, shards, manifest_of(shards, 1, job_hash="o" * 64))
    refused = invoke("restore", tmp_path / "pulled", "--uri", other.location.uri)
    assert (refused.exit_code, "--force job-hash" in refused.output) == (2, True)
    assert len(other.list()) == len(shards) + 2, "nothing was changed"
    forced = invoke("restore", tmp_path / "pulled", "--uri", other.location.uri, "--force", "job-hash")
    assert forced.exit_code == 0, forced.output
    assert CheckpointCatalogue(other, "o" * 64, 1).committed()[-1].step == 3


def test_a_damaged_folder_is_not_put_back(uri: str, store: ObjectStore, tmp_path: Path) -> None:
    folder = tmp_path / "pulled"
    assert invoke("pull", folder, "--uri", uri).exit_code == 0
    path = folder / "common-0000.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\xfe")
    before = store.list()
    result = invoke("restore", folder, "--uri", uri)
    assert (result.exit_code, "common-0000.safetensors" in result.output) == (2, True)
    assert store.list() == before


def test_a_run_is_exported_straight_from_the_store(uri: str, tmp_path: Path) -> None:
    result = invoke("export", uri, tmp_path / "out", "--to", "safetensors")
    assert result.exit_code == 0, result.output
    assert "tied: head.weight is stored as embed.weight" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "what was pulled for it is gone"
    model, _ = trained()
    found = load_file(tmp_path / "out" / "model.safetensors")
    assert torch.equal(found["embed.weight"], model.embed.weight)


def test_gc_lists_and_then_deletes_what_counts_for_nothing(
    uri: str, store: ObjectStore, location: StorageLocation
) -> None:
    client = boto3.client("s3", endpoint_url=location.endpoint_url)
    key = f"{location.prefix}/{checkpoint_folder(9, Writer(1, 1))}/rank-0000.safetensors"
    for each in (key, f"{location.prefix}/checkpoints/mine.bin"):
        upload = client.create_multipart_upload(Bucket=location.bucket, Key=each)
        client.upload_part(
            Bucket=location.bucket, Key=each, PartNumber=1, UploadId=upload["UploadId"], Body=b"x"
        )
    store.put("checkpoints/notes.txt", b"mine")
    store.put(f"checkpoints/fence/{Writer(2, 1)}", b"token")
    before = store.list()
    young = rows(invoke("gc", "--uri", uri, "--keep-last", 1, "--json"))
    assert [row["kind"] for row in young] == ["orphan", "superfluous", "superfluous"]
    dry = rows(invoke("gc", "--uri", uri, "--keep-last", 1, "--older-than", "0h", "--json"))
    assert [row["kind"] for row in dry] == ["orphan", "superfluous", "superfluous", "upload"]
    assert store.list() == before, "nothing goes without --delete"
    done = invoke("gc", "--uri", uri, "--keep-last", 1, "--older-than", "0h", "--delete")
    assert done.exit_code == 0, done.output
    left = {key.rpartition("/")[0] for key in store.list()}
    assert left == {
        "checkpoints",
        "checkpoints/fence",
        checkpoint_folder(3, Writer(1, 1)),
        checkpoint_folder(4, Writer(1, 1)),
    }
    assert [each.key for each in store.unfinished_uploads()] == ["checkpoints/mine.bin"]
    [tombstone] = rows(invoke("ls", "--uri", uri, "--json"))[1:]
    assert tombstone["state"] == "given up"


def test_gc_deletes_no_committed_one_where_none_newer_is_whole(
    uri: str, store: ObjectStore, shards: dict[str, bytes]
) -> None:
    store.put(f"{checkpoint_folder(3, Writer(1, 1))}/rank-0000.safetensors", b"rotten")
    assert invoke("gc", "--uri", uri, "--keep-last", 1, "--delete").exit_code == 0
    assert [each.step for each in CheckpointCatalogue(store, HASH, 1).committed()] == [2, 3]


Forge = Callable[[dict[str, Any]], Any]
HOSTILE: list[Forge] = [
    lambda _: b"\xff\x00 not JSON",
    lambda document: {**document, "step": "3; rm -rf"},
    lambda document: {**document, "written_at_s": 1e300},
    lambda document: {**document, "step": 10**17},
    lambda document: {**document, "files": [{**document["files"][0], "name": "../../../escaped"}]},
    lambda document: {**document, "files": [{**document["files"][0], "bytes": 1 << 60}]},
    lambda document: {**document, "files": [{**document["files"][0], "bytes": 1 << 40}]},
    lambda document: {**document, "files": []},
    lambda document: {**document, "world_size": 10**15},
    lambda document: {**document, "job_hash": "\x1b[2J[red]"},
    lambda document: {**document, "metrics": {"\x1b]0;owned\x07": 1.0}},
]


@pytest.mark.parametrize("forge", HOSTILE)
def test_a_hostile_manifest_ends_in_a_message_and_writes_nothing_elsewhere(
    store: ObjectStore, shards: dict[str, bytes], tmp_path: Path, forge: Forge
) -> None:
    manifest = manifest_of(shards, 3)
    store_checkpoint(store, shards, manifest)
    forged = forge(manifest.model_dump(mode="json"))
    data = forged if isinstance(forged, bytes) else json.dumps(forged).encode()
    store.put(f"{manifest.folder}/manifest.json", data)
    uri, inner = store.location.uri, tmp_path / "a" / "b"
    before = store.list()
    for arguments in (
        ["ls", "--uri", uri],
        ["ls", "--uri", uri, "--json"],
        ["verify", "--uri", uri],
        ["pull", inner / "pulled", "--uri", uri],
        ["export", uri, inner / "out", "--to", "safetensors"],
        ["gc", "--uri", uri, "--keep-last", "1", "--delete", "--older-than", "0h"],
    ):
        result = invoke(*arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), arguments
        assert "\x1b" not in result.output
    assert store.list() == before
    assert {path.relative_to(tmp_path).parts[:3] for path in tmp_path.rglob("*") if path.is_file()} <= {
        ("a", "b", "pulled"),
        ("a", "b", "out"),
    }


@pytest.fixture
def run(location: StorageLocation, monkeypatch: pytest.MonkeyPatch, shards: dict[str, bytes]) -> RunStore:
    """A planned run of which two trainings have checkpoints, one of them in two takes."""
    monkeypatch.setenv(URI_VARIABLE, location.uri)
    planned = run_manifest_of(JOB, "run-1").model_copy(update={"job_hash": HASH})
    stored = RunStore(location, "tiny", "run-1")
    stored.write("manifest.json", planned)
    for variant, seed, take, step in (("baseline", 0, 1, 4), ("baseline", 0, 2, 5), ("topk", 1, 1, 6)):
        store_checkpoint(stored.training_objects(variant, seed, take), shards, manifest_of(shards, step))
    return stored


def test_a_run_is_found_by_name_and_narrowed_by_variant_and_seed(run: RunStore, tmp_path: Path) -> None:
    found = rows(invoke("ls", "tiny", "--json"))
    assert [(row["variant"], row["seed"], row["take"], row["step"]) for row in found] == [
        ("baseline", 0, 1, 4), ("baseline", 0, 2, 5), ("topk", 1, 1, 6),
    ]  # fmt: skip
    assert [row["step"] for row in rows(invoke("ls", "tiny/run-1", "--variant", "topk", "--json"))] == [6]
    one = ["--variant", "baseline", "--seed", 0]
    assert invoke("pull", tmp_path / "newest", "tiny", *one).exit_code == 0
    assert json.loads((tmp_path / "newest/manifest.json").read_text())["step"] == 5, "of the newest take"
    assert invoke("pull", tmp_path / "first", "tiny", *one, "--take", 1).exit_code == 0
    assert json.loads((tmp_path / "first/manifest.json").read_text())["step"] == 4
    lost = ["--variant", "bf16", "--seed", 3]
    assert invoke("restore", tmp_path / "first", "tiny", *lost).exit_code == 0
    assert [row["step"] for row in rows(invoke("ls", "tiny", *lost, "--json"))] == [4]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ls"], "give either RUN"),
        (["ls", "tiny", "--uri", "s3://bucket/x"], "give either RUN"),
        (["ls", "--uri", "/etc"], "no s3://bucket/prefix"),
        (["ls", "nosuch"], "has no run"),
        (["ls", "tiny", "--variant", "nosuch"], "baseline, bf16, topk"),
        (["ls", "tiny", "--seed", "77"], "seeds are 0, 1, 2, 3, 4"),
        (["pull", "folder", "tiny"], "15 trainings match"),
        (["pull", "folder", "tiny", "--variant", "topk", "--seed", "1", "--step", "5"], "steps with one: 6"),
        (["restore", "nowhere", "tiny", "--variant", "topk", "--seed", "1"], "holds no manifest.json"),
        (["gc", "tiny", "--older-than", "soon"], "write 24h or 7d"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_to_do(
    run: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert says in result.output
    assert not list(tmp_path.iterdir())
