"""Writing and reading a run's tables."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from seedance_ops.storage.client import ObjectStore
from seedance_ops.training.log import RunLog
from seedance_ops.training.metrics.reading import read_checkpoint_writes, read_evaluations, read_steps
from seedance_ops.training.metrics.records import EvaluationRecord, StepRecord
from seedance_ops.training.metrics.tables import STEPS
from seedance_ops.training.metrics.writing import STAMP_KEY, RunTables
from seedance_ops.training.plan import LaunchPlan


def plan(submission: int) -> LaunchPlan:
    return LaunchPlan.model_validate(
        {
            "job": "job",
            "job_hash": "h",
            "run_id": "r",
            "variant": "v",
            "seed": 1,
            "submission": submission,
            "batch": {"per_rank": 1},
            "stop": {"steps": 10},
            "storage": {"uri": "s3://bucket/run"},
            "stamp": {"git_commit": "abc"},
        }
    )


def step(number: int, rank: int = 0, at_s: float = 0.0, loss: float = 1.0) -> StepRecord:
    return StepRecord(
        rank=rank,
        world_size=2,
        step=number,
        started_at_s=at_s + number,
        step_time_s=0.5,
        compute_s=0.4,
        communication_wait_s=0.1,
        all_reduce_s=0.1,
        checkpoint_stall_s=0.0,
        bytes_on_wire=8,
        bytes_dense_fp32=8,
        samples=1,
        tokens=None,
        model_flops=None,
        flops_method=None,
        cpu_utilisation=1.0,
        gpu_utilisation=None,
        memory_bytes=1,
        train_loss=loss,
    )


def test_every_flush_is_a_part_of_its_own(store: ObjectStore) -> None:
    log = RunLog(RunTables(store, plan(1), 0), None)
    for number in (1, 2):
        log.add_step(step(number))
        log.flush()
    log.flush()
    assert store.list() == [f"steps/submission-001/rank-0000/part-0000{part}.parquet" for part in (0, 1)]
    assert log.train_elapsed_s == 1.0


def test_a_restart_within_a_submission_overwrites_nothing(store: ObjectStore) -> None:
    for loss in (1.0, 2.0):
        RunTables(store, plan(1), 0).steps.write([step(1, at_s=loss, loss=loss)])
    assert read_steps(store, "cost").column("train_loss").to_pylist() == [1.0, 2.0]
    assert read_steps(store).column("train_loss").to_pylist() == [2.0]


def test_the_training_view_keeps_the_last_submission_of_each_step(store: ObjectStore) -> None:
    RunTables(store, plan(1), 0).steps.write([step(number) for number in (1, 2, 3)])
    RunTables(store, plan(2), 0).steps.write([step(number) for number in (3, 4)])
    RunTables(store, plan(1), 1).steps.write([step(3, rank=1)])
    rows = read_steps(store).to_pylist()
    assert [(row["rank"], row["step"], row["submission"]) for row in rows] == [
        (0, 1, 1),
        (0, 2, 1),
        (0, 3, 2),
        (0, 4, 2),
        (1, 3, 1),
    ]
    assert read_steps(store, "cost").num_rows == 6


def test_evaluations_are_told_apart_by_metric(store: ObjectStore) -> None:
    for submission in (1, 2):
        RunTables(store, plan(submission), 0).evaluations.write(
            [EvaluationRecord(5, 10, 0.0, 1.0, metric, float(submission)) for metric in ("a", "b")]
        )
    assert read_evaluations(store).column("value").to_pylist() == [2.0, 2.0]
    assert read_evaluations(store, "cost").num_rows == 4


def test_nothing_written_reads_as_empty_tables(store: ObjectStore) -> None:
    assert read_steps(store).schema == STEPS
    assert read_steps(store).num_rows == 0
    assert read_checkpoint_writes(store).num_rows == 0


def test_every_part_carries_the_stamp(store: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> None:
    RunTables(store, plan(1), 0).steps.write([step(1)])
    path = tmp_path_factory.mktemp("part") / "part.parquet"
    store.get_file(store.list()[0], path)
    stamp = json.loads(pq.read_schema(path).metadata[STAMP_KEY])
    assert stamp == {"git_commit": "abc", "job_hash": "h"}


@pytest.mark.parametrize("kept", [0, 700])
def test_a_part_whose_writer_was_killed_hides_no_other(
    store: ObjectStore, caplog: pytest.LogCaptureFixture, kept: int
) -> None:
    """As seen of SeaweedFS: the object is there, and empty."""
    tables = RunTables(store, plan(1), 0)
    tables.steps.write([step(1)])
    tables.steps.write([step(2)])
    key = store.list("steps/")[-1]
    store.put(key, store.get(key)[:kept])
    assert read_steps(store).column("step").to_pylist() == [1]
    assert key in caplog.text
