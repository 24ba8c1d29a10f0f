"""What a study will cost: from history, from a declaration, or from the deadline, and against the budget."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from seedance_ops.cost.catalogue import Price
from seedance_ops.jobs.identity import settings_hash
from seedance_ops.jobs.longest_run import longest_run_s
from seedance_ops.jobs.profiles import LocalProfile
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.planning.estimate import Estimate, estimate_study
from seedance_ops.planning.history import HistoryRecord, Observation

JOB: dict[str, Any] = {
    "apiVersion": "seedance.ops/v1",
    "kind": "TrainingJob",
    "metadata": {"name": "job"},
    "workload": {
        "entrypoint": "train.py",
        "runtime": "session",
        "batch": {"per_rank": 8},
        "stop": {"samples": 960},
        "quality": {"metric": "val_loss", "better": "lower"},
    },
    "launcher": "local",
    "num_nodes": 2,
    "resources": {"accelerators": "A100:4"},
    "variants": {"baseline": {}, "half": {}},
    "repeats": {"seeds": 3},
}
PRICE = Price(key="a", usd_per_accelerator_hour=2.0, source="test", date=dt.date(2026, 12, 1), basis="list")


def estimated(history: list[HistoryRecord] | None = None, slots: int = 1, **changes: Any) -> Estimate:
    job = TrainingJob.model_validate(JOB | changes)
    profile = LocalProfile(kind="local", price="a", slots=slots)
    return estimate_study(
        job,
        profiles=dict.fromkeys(job.variants, profile),
        prices=dict.fromkeys(job.variants, PRICE),
        history=history or [],
    )


PROFILE = LocalProfile(kind="local", price="a")


def settings_of(**changes: Any) -> dict[str, str]:
    job = TrainingJob.model_validate(JOB | changes)
    return {name: settings_hash(job, name, PROFILE) for name in job.variants}


def record(
    at_s: float = 1.0, settings: dict[str, str] | None = None, **usd: tuple[float, ...]
) -> HistoryRecord:
    seconds = {"baseline": (1800.0, 1800.0), "half": (900.0, 900.0)}
    observations = [
        Observation(variant=variant, metric=metric, values=values)
        for variant, of_variant in seconds.items()
        for metric, values in (
            ("run_s", of_variant),
            *([("usd_per_run", usd[variant])] if variant in usd else []),
        )
    ]
    return HistoryRecord(
        job="job",
        job_hash="h",
        run_id=f"run-{at_s:g}",
        ended_at_s=at_s,
        accepted=("half",),
        run_accepted=True,
        baseline="baseline",
        observations=tuple(observations),
        settings=settings_of() if settings is None else settings,
        usd_per_accelerator_hour={},
        stamp={},
    )


def test_history_gives_hours_money_and_duration() -> None:
    found = estimated([record()])
    # 8 accelerators × 3 runs × (0.5 + 0.25) h = 18 h, at 2 USD
    assert found.accelerator_hours == pytest.approx(18.0)
    assert found.usd == pytest.approx(36.0)
    assert found.duration_s == pytest.approx(3 * (1800 + 900))
    assert {variant.basis for variant in found.variants} == {"history"}
    assert estimated([record()], slots=3).duration_s == pytest.approx(1800.0 + 900.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"workload": JOB["workload"] | {"stop": {"samples": 1920}}},
        {"workload": JOB["workload"] | {"stop": {"tokens": 10**12}}},
        {"workload": JOB["workload"] | {"args": {"layers": 999}}},
        {"resources": {"accelerators": "T4:4"}},
    ],
)
def test_a_history_of_other_settings_does_not_count(changes: dict[str, Any]) -> None:
    found = estimated([record()], budget={"expected_run_s": 3600}, **changes)
    assert {variant.basis for variant in found.variants} == {"declared"}
    assert found.accelerator_hours == pytest.approx(48.0)


def test_another_price_or_more_slots_are_no_other_settings() -> None:
    assert {variant.basis for variant in estimated([record()], slots=7).variants} == {"history"}


def test_nodes_that_are_billed_apart_are_in_the_estimate_and_the_budget() -> None:
    host = {"host_usd_per_node_hour": {"usd": 10.0, "key": "node"}}
    found = estimated([record()], prices=host, budget={"usd": 37.0})
    # 36 USD of accelerators, and 2 nodes × 3 runs × 0.75 h × 10 USD
    assert found.usd == pytest.approx(36.0 + 45.0)
    assert found.over_budget


@pytest.mark.parametrize(
    ("slots", "repeats", "hours"),
    [
        (1, {"seeds": 3}, 6.0),
        (2, {"seeds": 3}, 3.0),
        (4, {"seeds": 3}, 2.0),
        (100, {"seeds": 3, "block": "allocation"}, 2.0),
        (2, {"seeds": 3, "block": "allocation"}, 4.0),
    ],
)
def test_the_duration_is_that_of_whole_runs_and_blocks(
    slots: int, repeats: dict[str, Any], hours: float
) -> None:
    found = estimated(slots=slots, budget={"expected_run_s": 3600}, repeats=repeats)
    assert found.duration_s == pytest.approx(hours * 3600)


def test_with_nothing_known_the_longest_launch_counts_and_what_it_may_cost_bounds_it() -> None:
    bounded = estimated(budget={"usd": 100.0, "per_run_usd": 16.0})
    assert {variant.basis for variant in bounded.variants} == {"bound"}
    assert bounded.usd == pytest.approx(6 * 16.0)
    assert bounded.over_budget == ()
    over = estimated(budget={"usd": 100.0})
    assert "6 runs" not in over.over_budget[0]
    assert "per_run_usd" in over.over_budget[0]


def test_a_launch_ends_when_its_money_is_spent_but_never_later_than_its_deadline() -> None:
    job = TrainingJob.model_validate(JOB | {"budget": {"per_run_usd": 16.0}})
    assert longest_run_s(job, accelerators=8, usd_per_accelerator_hour=2.0) == pytest.approx(3600.0)
    short = TrainingJob.model_validate(
        JOB | {"budget": {"per_run_usd": 16.0}, "limits": {"run_timeout_s": 60}}
    )
    assert longest_run_s(short, accelerators=8, usd_per_accelerator_hour=2.0) == 60.0
    assert longest_run_s(job, 8, 2.0, spent_s=3000.0) == pytest.approx(600.0), "earlier submissions count"
    assert longest_run_s(job, 8, 2.0, spent_s=4000.0) < 0.0


def test_a_run_that_costs_more_than_allowed_is_refused_by_name() -> None:
    found = estimated([record()], budget={"per_run_usd": 5.0})
    assert len(found.over_budget) == 1
    assert "baseline would cost 8 USD" in found.over_budget[0]
    declared = estimated(budget={"per_run_usd": 5.0, "expected_run_s": 1800})
    assert len(declared.over_budget) == 2


def test_break_even_from_an_accepted_run_and_from_what_a_gate_demands() -> None:
    seen = estimated([record(baseline=(8.0, 8.0), half=(4.0, 4.0))]).break_even
    assert seen is not None
    assert (seen.variant, seen.production_runs) == ("half", pytest.approx(36.0 / 4.0))
    gate = {
        "metric": "usd_per_run",
        "compared_to": "baseline",
        "change_at_most": {"relative": -0.25},
    }
    demanded = estimated([record()], gates=[gate]).break_even
    assert demanded is not None
    assert demanded.saving_usd_per_run == pytest.approx(2.0)
    assert demanded.production_runs == pytest.approx(18.0)
    assert estimated([record()]).break_even is None


def phased(top: int, **changes: Any) -> Estimate:
    phases = {"screen": {"samples": 96, "seeds": 2}, "confirm": {"top": top, "seeds": 3}}
    job = {key: value for key, value in JOB.items() if key != "repeats"}
    variants = {"baseline": {}, "half": {}, "third": {}}
    parsed = TrainingJob.model_validate(job | {"variants": variants, "phases": phases} | changes)
    return estimate_study(
        parsed,
        profiles=dict.fromkeys(parsed.variants, LocalProfile(kind="local", price="a")),
        prices=dict.fromkeys(parsed.variants, PRICE),
        history=[record()],
    )


def test_a_study_in_phases_costs_at_most_the_screening_and_the_dearest_that_may_go_on() -> None:
    found = phased(top=1, budget={"expected_run_s": 3600})
    hours = {variant.variant: variant.accelerator_hours for variant in found.variants}
    # A screening run takes a tenth of the samples, so a tenth of the time; `third` is the dearest: 1 h a run.
    assert hours["baseline"] == pytest.approx(8 * (3 * 0.5 + 2 * 0.05))
    assert hours["half"] == pytest.approx(8 * 2 * 0.025)
    assert hours["third"] == pytest.approx(8 * (3 * 1.0 + 2 * 0.1))
    assert found.usd == pytest.approx(2.0 * sum(hours.values()))


def test_the_dearest_choice_counts_what_a_gate_compares_with() -> None:
    gate = {
        "metric": "run_s",
        "compared_to": "half",
        "change_at_most": {"relative": 0},
        "variants": ["third"],
    }
    found = phased(top=1, budget={"expected_run_s": 3600}, gates=[gate])
    assert {variant.variant for variant in found.variants if variant.runs} == {"baseline", "half", "third"}


def test_the_confirming_runs_follow_the_screening() -> None:
    found = phased(top=2, budget={"expected_run_s": 3600})
    seconds = 3 * (1800 + 900 + 3600) + 2 * (180 + 90 + 360)
    assert found.duration_s == pytest.approx(seconds)


def test_a_reused_baseline_costs_nothing_again() -> None:
    job = TrainingJob.model_validate(JOB)
    found = estimate_study(
        job,
        profiles=dict.fromkeys(job.variants, LocalProfile(kind="local", price="a")),
        prices=dict.fromkeys(job.variants, PRICE),
        history=[record(baseline=(8.0, 8.0), half=(4.0, 4.0))],
        reused={"baseline"},
    )
    assert found.usd == pytest.approx(8 * 3 * 0.25 * 2.0)
    assert found.break_even is not None
    assert found.break_even.production_runs == pytest.approx(12.0 / 4.0)
