"""A job in phases, twice, and one in blocks of which one variant breaks, run to their reports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seedance_ops.jobs.run_store import RunStore
from seedance_ops.planning.history import History
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.server import StoreRecord
from tests.dags.runs import CHECKOUT, run_all

PHASED = CHECKOUT / "tests/dags/jobs/phased.yaml"
BREAKS = CHECKOUT / "tests/dags/jobs/one_variant_breaks.yaml"


@pytest.fixture(scope="module")
def runs(home: dict[str, str], store_server: StoreRecord) -> list[dict[str, Any]]:
    """The job in phases, run again with the first run's baseline, and the one that breaks."""
    found = run_all([PHASED, PHASED, BREAKS], home, store_server)
    assert [run["state"] for run in found] == ["success"] * 3
    return found


def test_a_broken_variant_fails_alone_and_the_report_says_what_is_missing(
    runs: list[dict[str, Any]], base: StorageLocation
) -> None:
    run = runs[-1]
    trainings = [state for task, state in run["tasks"].items() if task.startswith("train.")]
    assert sorted(trainings) == ["failed"] * 3 + ["success"] * 6
    stored = RunStore(base, run["dag_id"], run["run_id"])
    report = json.loads(stored.text("report.json"))
    verdicts = {verdict["variant"]: verdict["outcome"] for verdict in report["verdicts"]}
    assert verdicts == {"sound": "accepted", "broken": "not_judgeable"}
    assert {(gone["variant"], gone["seed"]) for gone in report["missing"]} == {
        ("broken", s) for s in range(3)
    }
    assert all("exit code" in gone["reason"] for gone in report["missing"])


def trainings_of(run: dict[str, Any]) -> dict[str, int]:
    """How many trainings of each phase were launched."""
    states = [task.partition("[")[0] for task, state in run["tasks"].items() if state == "success"]
    return {phase: states.count(phase) for phase in ("screen", "train")}


def test_a_screening_decides_what_is_trained_in_full(
    runs: list[dict[str, Any]], base: StorageLocation
) -> None:
    run = next(run for run in runs if run["dag_id"] == "phased")
    assert trainings_of(run) == {"screen": 3, "train": 2}
    stored = RunStore(base, "phased", run["run_id"])
    screening = stored.screening()
    assert screening is not None
    stopped = [row.variant for row in screening.variants if not row.confirmed]
    assert stopped == ["wide"], "three layers of 1024 columns take seconds longer than one of 16 or 32"
    assert sorted(stored.frame("runs")["seed"]) == [0, 0]
    report = json.loads(stored.text("report.json"))
    assert "wide stopped by the screening" in report["headline"]
    paid = stored.frame("ledger")["cost_usd"].sum() + stored.frame("screening_ledger")["cost_usd"].sum()
    assert report["study"]["usd"] == pytest.approx(paid)


def test_the_next_run_reuses_the_baseline_and_pays_only_for_what_it_trained(
    runs: list[dict[str, Any]], base: StorageLocation
) -> None:
    first, second = (run for run in runs if run["dag_id"] == "phased")
    assert trainings_of(second) == {"screen": 3, "train": 1}
    stored, earlier = (RunStore(base, "phased", run["run_id"]) for run in (second, first))
    report = json.loads(stored.text("report.json"))
    assert report["reused"]["baseline"]["run_id"] == first["run_id"]
    assert any(f"those of run {first['run_id']}" in limit for limit in report["limits"])
    ours, theirs = (
        run.frame("runs").set_index("variant").loc["baseline", ["val_loss", "run_s"]].tolist()
        for run in (stored, earlier)
    )
    assert ours == theirs
    trained = stored.frame("costs").set_index("variant")["usd_per_run"].drop("baseline").sum()
    screening = stored.screening()
    assert screening is not None
    assert report["study"]["usd"] == pytest.approx(trained + screening.usd)
    assert History(base, "phased").records()[-1].reused == ("baseline",)


def test_the_runs_of_a_block_follow_each_other_on_the_same_nodes(
    runs: list[dict[str, Any]], base: StorageLocation
) -> None:
    stored = RunStore(base, runs[-1]["dag_id"], runs[-1]["run_id"])
    launches = stored.frame("launches").sort_values("order")
    for _, block in launches.groupby("seed"):
        assert len(block) == 3
        assert block["nodes"].nunique() == 1
        assert block["started_at_s"].is_monotonic_increasing
        assert (block["started_at_s"].to_numpy()[1:] >= block["ended_at_s"].to_numpy()[:-1]).all()
