"""Flipped bits, forged manifests, full disks: what is restored is right, or what is wrong is named."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.errors import StorageError
from seedance_ops.training.checkpoint.checkpointer import Checkpointer
from seedance_ops.training.checkpoint.places import Places
from seedance_ops.training.checkpoint.state import Position
from seedance_ops.training.environment import RankEnvironment
from seedance_ops.training.parallel import ProcessGroup
from tests.faults.checkpoint.saver import fill, is_right, make_state
from tests.small_plan import small_plan

STEPS = (1, 2)


@pytest.fixture(autouse=True)
def group() -> Iterator[ProcessGroup]:
    yield ProcessGroup.join(RankEnvironment(), "gloo")
    dist.destroy_process_group()


@pytest.fixture
def checkpointer(location: StorageLocation, tmp_path: Path, group: ProcessGroup) -> Any:
    """Makes the checkpointer of a submission; all of them are of one run and on one node."""

    def make(submission: int, **checkpoint: Any) -> Checkpointer:
        plan = small_plan(
            submission=submission, checkpoint={"interval_steps": 1} | checkpoint, storage=location
        )
        workspace = tmp_path / f"launch-{submission}"
        return Checkpointer(
            ObjectStore(location), plan, group, lambda tier: Places.of(plan, workspace, 0, tier)
        )

    return make


def save(checkpointer: Checkpointer, *steps: int) -> None:
    state = make_state()
    checkpointer.restore(state)
    for step in steps:
        fill(state, step)
        checkpointer.save(state, Position(step, step, 0.0, {}, None, final=False), lambda: None)
        checkpointer.settle()


def restore(checkpointer: Checkpointer) -> int:
    """The step that was restored; every bit is that step's."""
    state = make_state()
    restored = checkpointer.restore(state)
    step = restored.position.step if restored else 0
    assert step == 0 or is_right(state, step)
    return step


def files_of_the_newest(folder: Path) -> list[Path]:
    found = sorted(
        path for path in folder.glob(".checkpoints/*/checkpoints/step-00000002/*/*") if path.is_file()
    )
    assert {path.name for path in found} == {
        "common-0000.safetensors",
        "rank-0000.safetensors",
        "manifest.json",
    }
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_flipped_bit_in_any_file_of_the_node_costs_nothing(
    checkpointer: Any, tmp_path: Path, seed: int
) -> None:
    save(checkpointer(1), *STEPS)
    path = files_of_the_newest(tmp_path)[seed % 3]
    flip(path, seed)
    assert restore(checkpointer(2)) == 2
    assert restore(checkpointer(3)) == 2


@pytest.mark.parametrize("seed", range(6))
def test_a_flipped_bit_in_any_object_of_a_lost_node_is_not_restored(
    checkpointer: Any, location: StorageLocation, tmp_path: Path, seed: int
) -> None:
    save(checkpointer(1), *STEPS)
    shutil.rmtree(tmp_path / ".checkpoints")
    store = ObjectStore(location)
    key = store.list("checkpoints/step-00000002")[seed % 3]
    damaged = bytearray(store.get(key))
    damaged[random.Random(seed).randrange(len(damaged))] ^= 1 << seed
    store.put(key, bytes(damaged))
    assert restore(checkpointer(2)) in (1, 2), "2 where the bit decides nothing"


def flip(path: Path, seed: int) -> None:
    content = bytearray(path.read_bytes())
    content[random.Random(seed).randrange(len(content))] ^= 1 << seed
    path.write_bytes(content)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "../../../../etc/passwd"},
        {"name": "rank-0000.safetensors/../../x.safetensors"},
        {"bytes": 1 << 49},
        {"bytes": -1},
        {"bytes": 12},
        {"crc32c": []},
        {"blake3": "0" * 64},
        {"chunk_bytes": 1},
    ],
)
def test_a_forged_manifest_is_passed_over(
    checkpointer: Any, location: StorageLocation, tmp_path: Path, change: dict[str, Any]
) -> None:
    """Also one whose seal was made to fit, where that is possible at all."""
    save(checkpointer(1), *STEPS)
    shutil.rmtree(tmp_path / ".checkpoints")
    store = ObjectStore(location)
    (key,) = [key for key in store.list("checkpoints/step-00000002") if key.endswith("manifest.json")]
    manifest = json.loads(store.get(key))
    manifest["files"][0] |= change
    del manifest["seal"]
    store.put(key, json.dumps(manifest).encode())
    assert restore(checkpointer(2)) in ((1, 2) if change == {"blake3": "0" * 64} else (1,))


def test_a_checkpoint_of_another_boot_is_not_believed(
    checkpointer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that crashed may have lost what it had not synced, and another may have its disk."""
    save(checkpointer(1, cadence={"memory": 0, "local": 1, "object": 2}), 1, 2, 3)
    monkeypatch.setattr("seedance_ops.training.checkpoint.file_tier._boot_id", lambda: "another")
    assert restore(checkpointer(2)) == 2, "as the object store has it"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Of 16 MiB: room for three checkpoints of 4.8 MB and not for four."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a disk of its own needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_stops_training_and_says_so(checkpointer: Any, small_disk: Path) -> None:
    save(checkpointer(1, local_folder=str(small_disk)), *STEPS)
    fill_up(small_disk)
    with pytest.raises(StorageError, match=r"rank 0 cannot write a checkpoint \(local\).*No space left"):
        save(checkpointer(2, local_folder=str(small_disk)), 3)
    assert restore(checkpointer(3, local_folder=str(small_disk))) == 2


def test_a_full_disk_costs_checkpoints_alone_where_the_job_says_so(
    checkpointer: Any, small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = {"local_folder": str(small_disk), "on_failure": "continue"}
    save(checkpointer(1, **wanted), *STEPS)
    filler = fill_up(small_disk)
    running = checkpointer(2, **wanted)
    save(running, 3)
    assert "training goes on" in caplog.text
    assert "No space left" in caplog.text
    filler.unlink()
    state = make_state()
    fill(state, 4)
    assert running.save(state, Position(4, 4, 0.0, {}, None, final=False), lambda: None)
    running.settle()
    assert restore(checkpointer(3, **wanted)) == 4


def fill_up(folder: Path) -> Path:
    """A file that leaves a megabyte."""
    filler = folder / "filler"
    free = os.statvfs(folder)
    filler.write_bytes(bytes(free.f_bavail * free.f_bsize - (1 << 20)))
    return filler


def test_memory_is_not_taken_for_what_a_forged_manifest_promises(
    checkpointer: Any, location: StorageLocation, tmp_path: Path
) -> None:
    """Sizes are looked up before memory is taken: four terabytes are refused, not tried."""
    save(checkpointer(1), 1)
    shutil.rmtree(tmp_path / ".checkpoints")
    store = ObjectStore(location)
    (key,) = [key for key in store.list("checkpoints/step-") if key.endswith("manifest.json")]
    manifest = json.loads(store.get(key))
    size = 1 << 42
    manifest["files"][0] |= {"bytes": size, "crc32c": [0] * (size >> 23)}
    del manifest["seal"]
    store.put(key, json.dumps(manifest).encode())
    assert restore(checkpointer(2)) == 0
