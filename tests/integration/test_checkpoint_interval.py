"""A run whose interval adapts ends in the same bits, resumes with its interval, and its log explains it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.interval.pacing import Inputs
from seedance_ops.training.checkpoint.interval.policies import policy_of, replay
from seedance_ops.training.checkpoint.manifest import CheckpointManifest
from seedance_ops.training.metrics.reading import read_checkpoint_intervals, read_checkpoint_writes
from seedance_ops.training.plan import LaunchPlan

STEPS, LONGEST = 60, 8
ADAPTIVE = {"policy": "adaptive", "mtbf_h": 0.001, "max_interval_steps": LONGEST, "min_interval_steps": 2}
REPORT = {"policy": "report", "floor_steps": LONGEST}
FIXED = {"policy": "fixed"}


@pytest.fixture
def train(
    run_ranks: Callable[..., list[int | None]], location: StorageLocation, tmp_path: Path
) -> Callable[..., tuple[list[int | None], LaunchPlan, str]]:
    """Trains ``tiny.py`` on two ranks; their exit codes, the plan, and what they said."""

    def start(
        run: str, interval: dict[str, Any], *, submission: int = 1, **environment: str
    ) -> tuple[list[int | None], LaunchPlan, str]:
        checkpoint = {
            "interval_steps": 4,
            "interval": interval,
            "keep": {"last": 100},
            "cadence": {"local": 1, "object": 2},
        }
        plan = LaunchPlan.model_validate(
            {
                "job": "tiny",
                "job_hash": "hash",
                "run_id": run,
                "variant": "v",
                "seed": 3,
                "submission": submission,
                "batch": {"per_rank": 4},
                "stop": {"steps": STEPS},
                "compression": {"algorithm": "topk_error_feedback", "k_ratio": 0.1},
                "checkpoint": checkpoint,
                "storage": location.child(run),
            }
        )
        workspace = tmp_path / f"{run}-{submission}"
        workspace.mkdir()
        plan.write(workspace / "plan.json")
        variables = {
            "SEEDANCE_PLAN": str(workspace / "plan.json"),
            "SEEDANCE_WORKSPACE": str(workspace),
            "PAUSE_S": "0.03",
        }
        codes = run_ranks("tiny.py", 2, workspace / "log", variables | environment)
        print((workspace / "log").read_text())
        return codes, plan, (workspace / "log").read_text()

    return start


def committed(location: StorageLocation, run: str) -> list[CheckpointManifest]:
    return CheckpointCatalogue(ObjectStore(location.child(run)), "hash", 1).committed()


def decisions(location: StorageLocation, run: str, submission: int) -> list[dict[str, Any]]:
    rows = read_checkpoint_intervals(ObjectStore(location.child(run))).to_pylist()
    return [row for row in rows if row["submission"] == submission]


def assert_explained(plan: LaunchPlan, rows: list[dict[str, Any]]) -> None:
    """From the logged inputs alone the same decisions come out, and they are what was done."""
    policy = policy_of(plan.checkpoint)
    inputs = [Inputs.model_validate_json(row["inputs"]) for row in rows]
    again = list(replay(policy, inputs[0].state, [each.seen for each in inputs]))
    for row, decision in zip(rows, again, strict=True):
        assert (row["interval_steps"], row["reason"]) == (decision.interval_steps, decision.reason)
        assert decision.begins == (row["outcome"] != "postponed")
        expected = decision.retry_step if row["outcome"] == "skipped" else decision.next_step
        assert row["next_step"] == expected
    # Ranks met where it was said, and nowhere else.
    assert [row["step"] for row in rows[1:]] == [row["next_step"] for row in rows[:-1]]


@pytest.mark.parametrize("interval", [ADAPTIVE, REPORT], ids=["adaptive", "report"])
def test_a_killed_run_goes_on_with_its_interval_and_ends_in_the_same_bits(
    train: Callable[..., Any], location: StorageLocation, interval: dict[str, Any]
) -> None:
    assert train("whole", FIXED)[0] == [0, 0]
    assert decisions(location, "whole", 1) == []
    codes, plan, _ = train("killed", interval, DIE_AT="40")
    assert codes == [-signal.SIGKILL] * 2
    before = decisions(location, "killed", 1)
    assert_explained(plan, before)
    assert Inputs.model_validate_json(before[0]["inputs"]).state == policy_of(plan.checkpoint).start()

    codes, plan, said = train("killed", interval, submission=2)
    assert codes == [0, 0]
    after = decisions(location, "killed", 2)
    assert_explained(plan, after)
    resumed = int(said.partition("resuming after step ")[2].split()[0])
    first = Inputs.model_validate_json(after[0]["inputs"])
    assert first.seen.steps_since_last == after[0]["step"] - resumed
    (decided,) = [row for row in before if row["step"] == resumed]
    assert first.state.interval_steps == decided["interval_steps"]
    if interval is ADAPTIVE:
        assert after[0]["step"] == resumed + decided["interval_steps"]

    far = committed(location, "killed")
    assert far[-1].files == committed(location, "whole")[-1].files
    assert all({"rank-0000.safetensors", "rank-0001.safetensors"} <= {f.name for f in m.files} for m in far)
    # The sequence of checkpoints is one over both submissions, and every second goes to the object store.
    begun = [row["step"] for row in before if row["outcome"] == "begun" and row["step"] <= resumed]
    begun += [row["step"] for row in after if row["outcome"] == "begun"]
    assert [manifest.pace is not None and manifest.pace.number for manifest in far] == [
        begun.index(manifest.step) + 1 if manifest.step in begun else len(begun) + 1 for manifest in far
    ]
    assert all(manifest.final or manifest.pace.number % 2 == 0 for manifest in far if manifest.pace)
    writes = read_checkpoint_writes(ObjectStore(location.child("killed"))).to_pylist()
    assert {row["step"] for row in writes} <= {*begun, *(row["step"] for row in before), STEPS}


def test_an_adaptive_run_measures_and_says_what_it_changes(
    train: Callable[..., Any], location: StorageLocation
) -> None:
    """A step takes milliseconds here and a checkpoint more: the bound is what is left."""
    codes, _, said = train("run", ADAPTIVE)
    assert codes == [0, 0]
    rows = decisions(location, "run", 1)
    last = Inputs.model_validate_json(rows[-1]["inputs"]).state
    assert last.step_s
    assert last.costs_s
    assert last.near_s
    for row in rows:  # whoever knows what a checkpoint cost knows how long it took
        inputs = Inputs.model_validate_json(row["inputs"])
        assert len(inputs.state.near_s + inputs.seen.near_s) >= len(
            inputs.state.costs_s + inputs.seen.costs_s
        )
    intervals = [4, *(row["interval_steps"] for row in rows)]
    changes = sum(before != after for before, after in pairwise(intervals))
    assert said.count("seedance: checkpoint interval ") == changes
    assert {row["interval_steps"] for row in rows} <= set(range(2, LONGEST + 1))
