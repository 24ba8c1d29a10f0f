"""A block holds every run of its seed, in the drawn order, and is mapped as one."""

from __future__ import annotations

from typing import Any

from seedance_ops.jobs.manifest import plan_runs
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.orchestration.operators.block import mapped_arguments
from tests.unit.planning.test_estimate import JOB


def arguments(**repeats: Any) -> list[Any]:
    job = TrainingJob.model_validate(JOB | {"repeats": {"seeds": 4} | repeats})
    return mapped_arguments(job, plan_runs(job, "run"))


def test_without_blocks_every_run_is_mapped_alone() -> None:
    assert [run["order"] for run in arguments()] == list(range(8))


def test_a_block_is_one_seed_and_nothing_is_lost() -> None:
    blocks = arguments(block="allocation")
    assert [{run["seed"] for run in block} for block in blocks] == [{0}, {1}, {2}, {3}]
    assert [run for block in blocks for run in block] == arguments()


def test_runs_that_are_not_launched_leave_their_block_shorter() -> None:
    job = TrainingJob.model_validate(JOB | {"repeats": {"seeds": 2, "block": "allocation"}})
    to_train = [run for run in plan_runs(job, "run") if run.variant != "baseline"]
    assert [len(block) for block in mapped_arguments(job, to_train)] == [1, 1]
