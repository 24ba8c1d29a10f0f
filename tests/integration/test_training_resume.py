"""A run that was killed and resumed ends in the same bits as one that was not, and loses no record."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seedance_ops.cli.app import app
from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.manifest import CheckpointManifest
from seedance_ops.training.metrics.reading import (
    read_checkpoint_writes,
    read_evaluations,
    read_steps,
    read_usage,
)
from seedance_ops.training.plan import LaunchPlan

DENSE: dict[str, Any] = {"algorithm": "dense"}
TOPK: dict[str, Any] = {"algorithm": "topk_error_feedback", "k_ratio": 0.1}
QUANTIZED: dict[str, Any] = {"algorithm": "quantized_error_feedback", "dense_steps": 6}
FLUSHED: dict[str, Any] = TOPK | {"flush_on_save": True, "dense_steps": 2}
POWERSGD: dict[str, Any] = {"algorithm": "powersgd"}
TWO_LEVELS: dict[str, Any] = TOPK | {"two_levels": True, "flush_on_save": True}
LOCAL: dict[str, Any] = {"algorithm": "local_updates", "exchange_every": 3, "dense_steps": 2}
STEPS = 12

Launch = Callable[..., list[int | None]]
PlanFor = Callable[..., dict[str, str]]


@pytest.fixture
def plan_for(location: StorageLocation, tmp_path: Path) -> PlanFor:
    """Writes a plan; every submission has a workspace of its own, like a new node."""

    def write(
        run: str,
        compression: dict[str, Any],
        *,
        submission: int = 1,
        checkpoint: dict[str, Any] | None = None,
    ) -> dict[str, str]:
        plan = LaunchPlan.model_validate(
            {
                "job": "tiny",
                "job_hash": "hash",
                "run_id": run,
                "variant": compression["algorithm"],
                "seed": 3,
                "submission": submission,
                "batch": {"per_rank": 4},
                "stop": {"steps": STEPS},
                "quality": {"metric": "val_loss", "better": "lower"},
                "compression": compression,
                "checkpoint": {"interval_steps": 5, "keep": {"last": 2}} | (checkpoint or {}),
                "storage": location.child(run),
                "stamp": {"git_commit": "abc"},
            }
        )
        workspace = tmp_path / f"{run}-{submission}"
        workspace.mkdir(exist_ok=True)
        plan.write(workspace / "plan.json")
        return {"SEEDANCE_PLAN": str(workspace / "plan.json"), "SEEDANCE_WORKSPACE": str(workspace)}

    return write


@pytest.fixture
def launch(run_ranks: Callable[..., list[int | None]], plan_for: PlanFor) -> Launch:
    """Trains ``tiny.py`` under a plan to its end; the exit codes by rank."""

    def launch_with(
        run: str,
        compression: dict[str, Any],
        *,
        submission: int = 1,
        ranks: int = 2,
        per_node: int | None = None,
        checkpoint: dict[str, Any] | None = None,
        **environment: str,
    ) -> list[int | None]:
        variables = plan_for(run, compression, submission=submission, checkpoint=checkpoint) | environment
        log = Path(variables["SEEDANCE_WORKSPACE"]) / "log"
        codes = run_ranks("tiny.py", ranks, log, variables, per_node=per_node)
        print(log.read_text())
        return codes

    return launch_with


def committed(location: StorageLocation, run: str) -> list[CheckpointManifest]:
    return CheckpointCatalogue(ObjectStore(location.child(run)), "hash", 1).committed()


@pytest.mark.parametrize(
    ("compression", "ranks"), [(DENSE, 3), (TOPK, 2), (QUANTIZED, 2), (POWERSGD, 2), (LOCAL, 2), (FLUSHED, 3)]
)
def test_a_killed_run_resumes_to_the_same_bits(
    launch: Launch, location: StorageLocation, compression: dict[str, Any], ranks: int
) -> None:
    assert launch("whole", compression, ranks=ranks) == [0] * ranks
    assert launch("killed", compression, ranks=ranks, DIE_AT="8") == [-signal.SIGKILL] * ranks
    assert launch("killed", compression, ranks=ranks, submission=2) == [0] * ranks
    whole, resumed = committed(location, "whole")[-1], committed(location, "killed")[-1]
    assert (resumed.step, resumed.submission, resumed.final) == (STEPS, 2, True)
    assert resumed.files == whole.files  # names, sizes and digests: model, optimiser, and every rank's own

    store = ObjectStore(location.child("killed"))
    steps = read_steps(store).to_pylist()
    assert [(row["rank"], row["step"]) for row in steps] == [
        (rank, step) for rank in range(ranks) for step in range(1, STEPS + 1)
    ]
    assert {row["submission"] for row in steps if row["step"] <= 5} == {1}
    assert {row["submission"] for row in steps if row["step"] > 5} == {2}
    used = read_usage(store).to_pylist()
    assert {(row["submission"], row["rank"]) for row in used if row["component"] == "egress"} == {
        (submission, rank) for submission in (1, 2) for rank in range(ranks)
    }
    reference = read_steps(ObjectStore(location.child("whole"))).to_pylist()
    for column in ("train_loss", "bytes_on_wire", "model_flops", "samples"):
        assert [row[column] for row in steps] == [row[column] for row in reference]


def test_a_checkpoint_that_was_pulled_lost_and_put_back_is_resumed_from(
    launch: Launch, location: StorageLocation, tmp_path: Path
) -> None:
    assert launch("whole", TOPK) == [0] * 2
    assert launch("lost", TOPK, DIE_AT="8") == [-signal.SIGKILL] * 2
    store, folder = ObjectStore(location.child("lost")), tmp_path / "pulled"

    def checkpoint(*arguments: str) -> None:
        result = CliRunner().invoke(app, ["checkpoint", *arguments, "--uri", store.location.uri])
        assert result.exit_code == 0, result.output

    checkpoint("pull", str(folder))
    store.delete(*store.list("checkpoints/"))
    checkpoint("restore", str(folder))
    assert launch("lost", TOPK, submission=2) == [0] * 2
    assert "resuming after step 5" in (tmp_path / "lost-2" / "log").read_text()
    assert committed(location, "lost")[-1].files == committed(location, "whole")[-1].files


def test_what_was_paid_for_twice_stands_in_the_cost_view_twice(
    start_ranks: Callable[..., Any], plan_for: PlanFor, location: StorageLocation
) -> None:
    """SIGTERM flushes the steps beyond the last checkpoint; the next submission repeats them."""
    variables = plan_for("run", DENSE)
    progress = Path(variables["SEEDANCE_WORKSPACE"]) / "progress.json"
    variables |= {"SEEDANCE_PROGRESS_FILE": str(progress), "PAUSE_S": "0.6"}
    ranks = start_ranks("tiny.py", 2, progress.with_name("log"), variables)
    reached = wait_for_step(progress, 7)
    for rank in ranks:
        rank.terminate()
    for rank in ranks:
        rank.join(30)
    print(progress.with_name("log").read_text())
    assert [rank.exitcode for rank in ranks] == [143, 143]

    store = ObjectStore(location.child("run"))
    paid = read_steps(store, "cost").num_rows
    assert paid >= 2 * reached
    second = start_ranks("tiny.py", 2, progress.with_name("log"), plan_for("run", DENSE, submission=2))
    for rank in second:
        rank.join(30)
    training, cost = read_steps(store), read_steps(store, "cost")
    assert training.column("step").to_pylist() == 2 * list(range(1, STEPS + 1))
    assert cost.num_rows == paid + 2 * (STEPS - 5)
    evaluations = read_evaluations(store)
    assert evaluations.column("step").to_pylist() == list(range(1, STEPS + 1))
    elapsed = evaluations.column("train_elapsed_s").to_pylist()
    assert elapsed == sorted(elapsed)
    writes = read_checkpoint_writes(store).to_pylist()
    assert [(row["step"], row["tier"]) for row in writes] == [
        (step, tier) for step in (5, 10, 12) for tier in ("local", "object")
    ]


def wait_for_step(progress: Path, step: int) -> int:
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        if progress.exists() and (reached := json.loads(progress.read_text())["step"]) >= step:
            return int(reached)
        time.sleep(0.05)
    raise AssertionError(f"step {step} was not reached")


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def near_file(tmp_path: Path, step: int, name: str) -> Path:
    (found,) = (tmp_path / ".checkpoints").glob(f"*/checkpoints/step-{step:08d}/*/{name}")
    return found


def damage_object(location: StorageLocation, run: str, step: int, name: str) -> None:
    store = ObjectStore(location.child(run))
    manifest = committed(location, run)[-1]
    assert manifest.step == step
    content = bytearray(store.get(f"{manifest.folder}/{name}"))
    content[-1] ^= 1
    store.put(f"{manifest.folder}/{name}", bytes(content))


def test_a_shard_that_is_damaged_everywhere_is_named_and_the_checkpoint_before_is_taken(
    launch: Launch, location: StorageLocation, tmp_path: Path
) -> None:
    launch("whole", TOPK)
    launch("damaged", TOPK, DIE_AT="12", PAUSE_S="0.1")
    damage_object(location, "damaged", 10, "rank-0001.safetensors")
    damage(near_file(tmp_path, 10, "rank-0001.safetensors"))
    assert launch("damaged", TOPK, submission=2) == [0, 0]
    log = (tmp_path / "damaged-2" / "log").read_text()
    assert "checkpoint of step 10 is damaged" in log
    assert "rank-0001.safetensors in local" in log
    assert "rank-0001.safetensors in object" in log
    assert "resuming after step 5" in log
    assert committed(location, "damaged")[-1].files == committed(location, "whole")[-1].files


def test_a_shard_that_is_damaged_on_the_node_is_repaired_from_the_object_store(
    launch: Launch, location: StorageLocation, tmp_path: Path
) -> None:
    launch("run", TOPK, DIE_AT="12", PAUSE_S="0.1")
    path = near_file(tmp_path, 10, "common-0000.safetensors")
    whole = path.read_bytes()
    damage(path)
    assert launch("run", TOPK, submission=2, DIE_AT="11") == [-signal.SIGKILL] * 2
    log = (tmp_path / "run-2" / "log").read_text()
    assert "common-0000.safetensors in local" in log
    assert "another tier has it whole" in log
    assert "resuming after step 10" in log
    assert path.read_bytes() == whole


def test_a_node_that_was_lost_costs_the_way_to_the_object_store_alone(
    launch: Launch, location: StorageLocation, tmp_path: Path
) -> None:
    launch("whole", TOPK)
    launch("lost", TOPK, DIE_AT="12", PAUSE_S="0.1")
    shutil.rmtree(tmp_path / ".checkpoints")
    assert launch("lost", TOPK, submission=2) == [0, 0]
    assert "resuming after step 10" in (tmp_path / "lost-2" / "log").read_text()
    assert committed(location, "lost")[-1].files == committed(location, "whole")[-1].files


def test_what_was_kept_on_the_node_is_gone_after_a_good_end(launch: Launch, tmp_path: Path) -> None:
    launch("run", DENSE)
    assert list((tmp_path / ".checkpoints").rglob("*.safetensors")) == []


def test_a_checkpoint_that_only_the_node_has_is_taken_up_and_brought_to_the_object_store(
    launch: Launch, location: StorageLocation, tmp_path: Path
) -> None:
    launch("whole", TOPK)
    every_third = {"cadence": {"memory": 0, "local": 1, "object": 3}}
    launch("near", TOPK, DIE_AT="8", PAUSE_S="0.1", checkpoint=every_third)
    assert committed(location, "near") == []
    assert launch("near", TOPK, submission=2, checkpoint=every_third) == [0, 0]
    assert "resuming after step 5" in (tmp_path / "near-2" / "log").read_text()
    (last,) = committed(location, "near")
    assert last.files == committed(location, "whole")[-1].files


def test_a_finished_run_is_not_trained_again(launch: Launch, location: StorageLocation) -> None:
    launch("run", DENSE, ranks=1)
    assert launch("run", DENSE, ranks=1, submission=2) == [0]
    assert read_steps(ObjectStore(location.child("run")), "cost").num_rows == STEPS


def test_a_superseded_submission_commits_nothing_more(
    launch: Launch, location: StorageLocation, tmp_path: Path
) -> None:
    ObjectStore(location.child("run")).put("checkpoints/fence/submission-002", b"")
    assert launch("run", DENSE, ranks=1) == [78]
    assert "submission 2" in (tmp_path / "run-1" / "failure-rank-0000.json").read_text()
    assert committed(location, "run") == []


def test_another_number_of_ranks_is_refused_with_the_key_that_allows_it(
    launch: Launch, tmp_path: Path
) -> None:
    launch("run", TOPK, ranks=2, DIE_AT="8")
    assert launch("run", TOPK, ranks=1, submission=2) == [78]
    assert (
        "gradient_compression.flush_on_save: true"
        in (tmp_path / "run-2" / "failure-rank-0000.json").read_text()
    )


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 1)])
@pytest.mark.parametrize("compression", [FLUSHED, DENSE], ids=["flushed", "dense"])
def test_another_number_of_ranks_takes_up_what_fits_any(
    launch: Launch, location: StorageLocation, compression: dict[str, Any], before: int, after: int
) -> None:
    assert launch("run", compression, ranks=before, DIE_AT="8") == [-signal.SIGKILL] * before
    assert launch("run", compression, ranks=after, submission=2) == [0] * after
    last = committed(location, "run")[-1]
    assert (last.step, last.world_size) == (STEPS, after)
    assert last.samples_seen == 4 * (5 * before + (STEPS - 5) * after)  # 4 a rank and step


def test_what_two_nodes_of_two_ranks_owed_is_taken_up_by_two_nodes_of_one(
    launch: Launch, location: StorageLocation
) -> None:
    """Each of the four carried a shard only; the checkpoint holds the whole."""
    assert launch("run", TWO_LEVELS, ranks=4, per_node=2, DIE_AT="8") == [-signal.SIGKILL] * 4
    assert launch("run", TWO_LEVELS, ranks=2, per_node=1, submission=2) == [0] * 2
    last = committed(location, "run")[-1]
    assert (last.step, last.world_size) == (STEPS, 2)
