"""Stop conditions, sample order, the environment a session reads, and what it tells the launcher."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.checkpoint.config import CheckpointConfig, KeepBest, KeepPolicy
from seedance_ops.training.config import BatchConfig, StopCondition
from seedance_ops.training.environment import JobEnvironment
from seedance_ops.training.errors import ConfigurationError
from seedance_ops.training.failure import exit_code_of, leave_word
from seedance_ops.training.metrics.flops import FlopCount
from seedance_ops.training.plan import LaunchPlan
from seedance_ops.training.progress import ProgressFile
from seedance_ops.training.schedule import Schedule

SIZES = st.integers(1, 64)


@given(st.integers(1, 10**5), SIZES, SIZES)
def test_training_stops_before_the_step_that_would_exceed_the_samples(
    samples: int, batch: int, ranks: int
) -> None:
    schedule = Schedule(StopCondition(samples=samples), batch, ranks)
    if samples < batch * ranks:
        with pytest.raises(ConfigurationError, match="less than one step"):
            schedule.total_steps()
        return
    done = schedule.total_steps() * schedule.samples_per_step
    assert done <= samples < done + schedule.samples_per_step


@given(SIZES, SIZES, st.integers(1, 20))
def test_every_sample_is_taken_by_exactly_one_rank(batch: int, ranks: int, steps: int) -> None:
    schedule = Schedule(StopCondition(steps=steps), batch, ranks)
    taken = [
        sample
        for number in range(1, steps + 1)
        for rank in range(ranks)
        for sample in schedule.step(number, rank).samples
    ]
    assert taken == list(range(steps * batch * ranks))


def test_tokens_need_their_number_per_sample() -> None:
    assert Schedule(StopCondition(tokens=1000), 2, 2, tokens_per_sample=100).total_steps() == 2
    with pytest.raises(ConfigurationError, match="tokens_per_sample"):
        Schedule(StopCondition(tokens=1000), 2, 2).total_steps()


def test_only_the_last_step_is_last() -> None:
    schedule = Schedule(StopCondition(steps=3), 1, 1)
    assert [schedule.step(number, 0).last for number in (1, 2, 3)] == [False, False, True]


def test_no_plan_and_no_torchrun_is_a_session_of_one() -> None:
    environment = JobEnvironment.read({})
    assert environment.plan is None
    assert (environment.ranks.rank, environment.ranks.world_size, environment.ranks.launched) == (0, 1, False)


def test_a_missing_plan_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no-such-plan"):
        JobEnvironment.read({"SEEDANCE_PLAN": str(tmp_path / "no-such-plan")})


def test_a_plan_that_is_not_json_is_named_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "plan").write_text("secret-looking text")
    with pytest.raises(ConfigurationError, match="not a valid plan") as caught:
        JobEnvironment.read({"SEEDANCE_PLAN": str(tmp_path / "plan")})
    assert "secret" not in str(caught.value)


def test_a_plan_that_keeps_the_best_must_say_what_is_better(tmp_path: Path) -> None:
    plan = LaunchPlan(
        job="job",
        job_hash="h",
        run_id="run",
        variant="baseline",
        seed=0,
        submission=1,
        batch=BatchConfig(per_rank=1),
        stop=StopCondition(steps=1),
        checkpoint=CheckpointConfig(keep=KeepPolicy(best=KeepBest(metric="accuracy"))),
        storage=StorageLocation(uri="s3://bucket/run"),
    )
    plan.write(tmp_path / "plan")
    with pytest.raises(ConfigurationError, match="which direction is better"):
        JobEnvironment.read({"SEEDANCE_PLAN": str(tmp_path / "plan")})
    plan.model_copy(update={"checkpoint": plan.checkpoint.with_direction("higher")}).write(tmp_path / "plan")
    read = JobEnvironment.read({"SEEDANCE_PLAN": str(tmp_path / "plan")}).plan
    assert read is not None
    assert read.checkpoint.keep.best == KeepBest(metric="accuracy", better="higher")


def test_a_broken_rank_is_named() -> None:
    with pytest.raises(ConfigurationError, match="WORLD_SIZE"):
        JobEnvironment.read({"RANK": "0", "WORLD_SIZE": "two"})


def test_progress_is_throttled_but_every_phase_is_told(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path / "progress.json")
    for step in range(5):
        file.write("training", step, 10, step * 4)
    assert json.loads((tmp_path / "progress.json").read_text())["step"] == 0
    file.write("done", 5, 10, 20)
    document = json.loads((tmp_path / "progress.json").read_text())
    assert {key: document[key] for key in ("step", "total_steps", "samples", "phase")} == {
        "step": 5,
        "total_steps": 10,
        "samples": 20,
        "phase": "done",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]


def test_a_failure_leaves_word(tmp_path: Path) -> None:
    leave_word(ConfigurationError("k_ratio"), tmp_path, 3)
    document = json.loads((tmp_path / "failure-rank-0003.json").read_text())
    assert document == {"exit_code": 78, "error": "ConfigurationError", "message": "k_ratio"}
    assert exit_code_of(RuntimeError()) == 1
    assert exit_code_of(SystemExit(143)) == 143


def test_flops_are_counted_with_attention_on_a_cpu() -> None:
    """Forward 2·2·B·H·T²·D, backward 2.5 times that, as torch counts its fused kernels."""
    count = FlopCount(None)
    count.open()
    query = torch.randn(2, 3, 16, 8, requires_grad=True)
    torch.nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True).sum().backward()
    count.close(samples=2, parameters=0, tokens_per_sample=None)
    assert count.known is not None
    assert count.known.method == "counted"
    assert count.known.per_sample == 4 * 3 * 16 * 16 * 8 * 3.5


def test_what_cannot_be_counted_is_declared() -> None:
    count = FlopCount(None)
    count.open()
    count.close(samples=2, parameters=100, tokens_per_sample=10)
    assert count.known is not None
    assert (count.known.method, count.known.per_sample) == ("declared", 6 * 100 * 10)


@given(SIZES, SIZES, SIZES, st.integers(1, 20))
def test_another_number_of_ranks_goes_on_with_the_samples_that_were_not_seen(
    batch: int, before: int, after: int, done: int
) -> None:
    first = Schedule(StopCondition(samples=10**6), batch, before)
    seen = first.samples_after(done)
    second = Schedule(StopCondition(samples=10**6), batch, after).resumed(done, seen)
    assert second.step(done + 1, rank=0).sample_offset == seen == done * batch * before
    assert second.step(done + 1, rank=after - 1).samples[-1] == seen + batch * after - 1
    assert (
        second.samples_after(second.total_steps()) <= 10**6 < second.samples_after(second.total_steps() + 1)
    )
    assert first.resumed(done, seen).total_steps() == first.total_steps()
