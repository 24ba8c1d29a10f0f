"""An earlier baseline stands for this run's only if nothing that matters is different."""

from __future__ import annotations

from typing import Any

import pytest

from seedance_ops.jobs.identity import treatment_hash
from seedance_ops.jobs.manifest import CodeVersion, RunManifest, plan_runs
from seedance_ops.jobs.profiles import LocalProfile
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.planning.history import HistoryRecord
from seedance_ops.planning.reuse import Reuse, reusable_baseline
from tests.unit.planning.test_estimate import JOB

NOW_S, DAY_S = 1_000_000_000.0, 86_400.0
STAMP = {"job": "job", "job_hash": "a", "run_id": "new", "kernel": "6.1", "version_torch": "2.13.0"} | {
    "git_commit": "f00",
    "git_dirty": "no",
    "cluster_id": "cluster-f00",
    "label_team": "ml",
}


def manifest_of(repeats: dict[str, Any] | None = None, code: str = "c0de", **changes: Any) -> RunManifest:
    repeats = repeats or {"seeds": 3, "reuse_baseline": "14d"}
    job = TrainingJob.model_validate(JOB | {"repeats": repeats} | changes)
    return RunManifest(
        job=job,
        job_hash="a",
        source="job.yaml",
        run_id="new",
        runs=plan_runs(job, "new"),
        profiles=dict.fromkeys(job.variants, LocalProfile(kind="local", price="a")),
        code={name: CodeVersion(key=code, sha256=code) for name in job.variants},
        planned_at_s=NOW_S,
    )


def earlier(run_id: str = "old", age_s: float = DAY_S, **changes: Any) -> HistoryRecord:
    record = HistoryRecord(
        job="job",
        job_hash="b",
        run_id=run_id,
        ended_at_s=NOW_S - age_s,
        accepted=(),
        run_accepted=True,
        baseline="baseline",
        observations=(),
        ended={"baseline": NOW_S - age_s},
        treatments={"baseline": treatment_hash(manifest_of(), "baseline")},
        seeds={"baseline": (0, 1, 2)},
        usd_per_accelerator_hour={},
        stamp=STAMP | {"run_id": run_id, "job_hash": "b"},
    )
    return record.model_copy(update=changes)


def reuse_of(*history: HistoryRecord, **changes: Any) -> Reuse:
    return reusable_baseline(manifest_of(**changes), STAMP, history, now_s=NOW_S)


def test_the_newest_that_fits_stands_in() -> None:
    found = reuse_of(earlier("a", 3 * DAY_S), earlier("b", 2 * DAY_S), earlier("c", 1e9)).runs
    assert found is not None
    assert (found.run_id, found.ended_at_s) == ("b", NOW_S - 2 * DAY_S)


def test_other_gates_variants_prices_or_commits_do_not_hinder() -> None:
    moved = earlier(stamp=STAMP | {"git_commit": "0ff", "cluster_id": "x", "label_team": "other"})
    assert reuse_of(moved, variants={"baseline": {}, "another": {}}, accept="report").runs is not None


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (earlier(age_s=14.1 * DAY_S), "older than 14d"),
        (earlier(age_s=-60.0), "a clock was set"),
        (earlier(stamp=STAMP | {"kernel": "6.2"}), "other kernel"),
        (earlier(stamp={k: v for k, v in STAMP.items() if k != "version_torch"}), "other version_torch"),
        (earlier(reused=("baseline",)), "itself reused"),
        (earlier(seeds={"baseline": (0, 2)}), "lacks seeds [1]"),
        (earlier(treatments={}), "trained otherwise"),
        (earlier(run_id="new"), "this very run"),
        (earlier(ended={"baseline": NOW_S - 30 * DAY_S}), "older than 14d"),
        (earlier(ended={}), "does not say when"),
    ],
)
def test_whatever_differs_is_named(record: HistoryRecord, reason: str) -> None:
    found = reuse_of(record)
    assert found.runs is None
    assert reason in found.reasons[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"code": "0ther"},
        {"num_nodes": 4},
        {"workload": JOB["workload"] | {"env": {"A": "1"}}},
        {"variants": {"baseline": {"gradient_compression": {"algorithm": "bf16"}}, "half": {}}},
    ],
)
def test_another_treatment_is_another_hash(changes: dict[str, Any]) -> None:
    assert reuse_of(earlier(), **changes).reasons == ("run old: its baseline was trained otherwise",)


def test_an_image_that_may_have_moved_is_not_reused() -> None:
    workload = JOB["workload"] | {"image": "trainer:latest"}
    assert "not pinned" in reuse_of(earlier(), workload=workload).reasons[0]


def test_a_job_that_does_not_ask_trains_its_baseline() -> None:
    assert reuse_of(earlier(), repeats={"seeds": 3}) == Reuse(None, ())


def test_only_what_is_not_reused_is_trained() -> None:
    manifest = manifest_of()
    reuse = reuse_of(earlier()).runs
    assert reuse is not None
    manifest = manifest.model_copy(update={"reused": {"baseline": reuse}})
    assert {run.variant for run in manifest.to_train} == {"half"}
    assert len(manifest.runs) == 6
