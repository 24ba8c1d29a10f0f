"""A gate passes on evidence only; a verdict says which gate rejects and by how much."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedance_ops.jobs.metrics import metrics_of
from seedance_ops.quality import judge as judging
from seedance_ops.quality.evidence import limits_of, margin_evidence
from seedance_ops.quality.judge import judge
from seedance_ops.quality.missing import MissingRun
from seedance_ops.quality.results import Verdict, job_accepted
from seedance_ops.quality.statistics import summarise
from seedance_ops.quality.validation import GATE_EXPECTATION
from seedance_ops.stats.outcomes import NotJudgeable

BYTES = "{metric: bytes_on_wire, compared_to: baseline, change_at_most: {relative: -0.45}}"
LOSS = "{metric: val_loss, compared_to: baseline, equivalent_within: {absolute: 0.05}}"
NOT_WORSE = "{metric: val_loss, compared_to: baseline, non_inferior_within: {absolute: 0.05}}"
COST = "{metric: usd_per_run, compared_to: baseline, change_at_most: {relative: 0.0}}"


def judged(job, runs, missing=()):
    return judge(job, runs, summarise(job, runs), missing)


def outcomes(results):
    return [gate.outcome for gate in results.gates]


def verdict(results):
    (only,) = results.verdicts
    return only


def test_a_variant_that_holds_every_gate_is_accepted(job, runs):
    results = judged(job(BYTES, LOSS, COST), runs())
    assert outcomes(results) == ["pass", "pass", "pass"]
    assert verdict(results).outcome == "accepted"
    assert results.accepted


def test_a_worse_loss_rejects_and_says_by_how_much(job, runs):
    results = judged(job(BYTES, LOSS), runs(loss=0.3))
    assert outcomes(results) == ["pass", "fail"]
    assert results.gates[1].exceeds_by == pytest.approx(0.25, abs=0.02)
    assert verdict(results).outcome == "rejected"
    assert "val_loss" in verdict(results).reasons[0]
    assert not results.accepted


def test_a_better_loss_is_not_equivalent_either(job, runs):
    assert outcomes(judged(job(LOSS), runs(loss=-0.3))) == ["fail"]


def test_a_better_loss_is_not_worse_and_a_worse_one_is(job, runs):
    assert outcomes(judged(job(NOT_WORSE), runs(loss=-0.3))) == ["pass"]
    results = judged(job(NOT_WORSE), runs(loss=0.3))
    assert outcomes(results) == ["fail"]
    assert results.gates[0].exceeds_by == pytest.approx(0.25, abs=0.02)
    assert "at 90 %, wanted ≤ +0.05 (not worse)" in verdict(results).reasons[0]


@pytest.mark.parametrize(("change", "outcome"), [(1.5, "pass"), (0.97, "pass"), (0.8, "fail")])
def test_what_should_be_high_may_fall_by_less_than_the_margin(change, outcome, job, runs):
    frame = runs()
    frame["samples_per_s"] = 100.0 + frame["seed"] * 0.1
    frame.loc[frame["variant"] == "topk", "samples_per_s"] *= change
    gate = "{metric: samples_per_s, compared_to: baseline, non_inferior_within: {relative: 0.05}}"
    results = judged(job(gate), frame)
    assert outcomes(results) == [outcome]
    assert results.gates[0].bound == -0.05


def test_nothing_is_worse_in_a_metric_without_a_direction(job):
    gate = job(NOT_WORSE).gates[0]
    metric = replace(metrics_of(job(NOT_WORSE))["val_loss"], better="none")
    values = pd.Series([1.0, 2.0, 3.0])
    interval, _, _ = margin_evidence(gate, limits_of(gate, "none"), metric, values, values)
    assert isinstance(interval, NotJudgeable)
    assert "no better direction" in interval.reason


def test_a_saving_counts_only_as_far_as_its_interval_reaches(job, runs):
    results = judged(job(COST.replace("0.0", "-0.2")), runs(cost=0.8))
    assert outcomes(results) == ["fail"]
    assert outcomes(judged(job(COST.replace("0.0", "-0.18")), runs(cost=0.8))) == ["pass"]


def test_a_count_is_held_against_its_bound_exactly(job, runs):
    gate = BYTES.replace("-0.45", "-0.5")
    assert outcomes(judged(job(gate), runs(wire=0.5))) == ["pass"]
    assert outcomes(judged(job(gate), runs(wire=0.501))) == ["fail"]


@pytest.mark.parametrize(
    ("gate", "outcome"),
    [
        ("{metric: val_loss, compared_to: baseline, change_at_most: {absolute: 0.05}}", "pass"),
        ("{metric: val_loss, compared_to: baseline, change_at_least: {absolute: 0.05}}", "fail"),
        ("{metric: usd_per_run, compared_to: baseline, change_at_least: {relative: -0.3}}", "pass"),
        ("{metric: val_loss, compared_to: baseline, equivalent_within: {relative: 0.01}}", "pass"),
        ("{metric: usd_per_run, compared_to: baseline, equivalent_within: {relative: 0.1}}", "fail"),
        ("{metric: val_loss, compared_to: baseline, non_inferior_within: {absolute: 0.05}}", "pass"),
        ("{metric: usd_per_run, compared_to: baseline, non_inferior_within: {relative: 0.1}}", "pass"),
        ("{metric: bytes_on_wire, compared_to: baseline, non_inferior_within: {relative: 0.1}}", "pass"),
        ("{metric: val_loss, at_most: 3.5, variants: [topk]}", "pass"),
        ("{metric: val_loss, at_least: 3.5, variants: [topk]}", "fail"),
    ],
)
def test_every_condition_is_judged(gate, outcome, job, runs):
    assert outcomes(judged(job(gate), runs())) == [outcome]


def test_a_warning_is_told_and_does_not_reject(job, runs):
    results = judged(job(BYTES, COST.replace("}}", "}, severity: warning}")), runs(cost=1.2))
    assert outcomes(results) == ["pass", "fail"]
    assert verdict(results).outcome == "accepted"
    assert "usd_per_run" in verdict(results).warnings[0]


def test_a_gate_on_the_level_judges_the_baseline_too(job, runs):
    results = judged(job("{metric: val_loss, at_most: 1.0}"), runs())
    assert [(entry.variant, entry.outcome) for entry in results.verdicts] == [
        ("baseline", "rejected"),
        ("topk", "rejected"),
    ]


@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_are_not_judgeable(seeds, job, runs):
    results = judged(job(BYTES, LOSS, COST, NOT_WORSE, seeds=seeds), runs(seeds=seeds))
    assert outcomes(results) == ["not_judgeable"] * 4
    assert verdict(results).outcome == "not_judgeable"
    assert not results.accepted


@pytest.mark.parametrize("variant", ["baseline", "topk"])
def test_a_missing_run_of_either_side_is_not_judgeable(variant, job, runs):
    frame = runs()
    frame = frame[(frame["variant"] != variant) | (frame["seed"] != 3)]
    missing = [MissingRun(variant=variant, seed=3, reason="it failed")]
    results = judged(job(LOSS), frame, missing)
    assert outcomes(results) == ["not_judgeable"]
    assert "seed 3: it failed" in results.gates[0].reason
    assert outcomes(judged(job(NOT_WORSE), frame, missing)) == ["not_judgeable"]
    assert outcomes(judged(job(LOSS), frame)) == ["not_judgeable"], "also when nobody says that it is missing"


def test_a_doubled_run_is_not_judgeable(job, runs):
    frame = runs()
    frame.loc[frame["seed"] == 3, "seed"] = 2
    assert outcomes(judged(job(LOSS), frame)) == ["not_judgeable"]


def test_a_missing_column_is_not_judgeable(job, runs):
    results = judged(job(LOSS), runs().drop(columns="val_loss"))
    assert outcomes(results) == ["not_judgeable"]
    assert "no run has a column val_loss" in results.gates[0].reason


def test_no_runs_at_all_are_not_judgeable(job, runs):
    results = judged(job(BYTES, LOSS), runs().iloc[:0])
    assert outcomes(results) == ["not_judgeable"] * 2


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.tuples(st.integers(0, 9), st.sampled_from(["val_loss", "usd_per_run", "bytes_on_wire"])),
    broken=st.sampled_from([math.nan, math.inf, -math.inf]),
    loss=st.sampled_from([0.0, 0.3]),
)
def test_a_broken_value_never_turns_a_gate_into_a_pass(job, runs, place, broken, loss):
    row, metric = place
    gates = job(BYTES, LOSS, COST, NOT_WORSE)
    frame = runs(loss=loss)
    before = outcomes(judged(gates, frame))
    frame.loc[frame.index[row], metric] = broken
    after = judged(gates, frame).gates
    expected = [
        "not_judgeable" if gate.metric == metric else as_before
        for gate, as_before in zip(after, before, strict=True)
    ]
    assert [gate.outcome for gate in after] == expected


def test_a_job_without_a_gate_accepts_nothing(job, runs):
    results = judged(job(), runs())
    assert verdict(results).outcome == "not_judgeable"
    assert not results.accepted


def test_a_misspelt_expectation_fails_every_gate(job, runs, monkeypatch):
    real = judging.suite_of

    def misspelt(evidence):
        first, *others = real(evidence)
        return [{**first, "type": "expect_gate_to_hlod"}, *others]

    monkeypatch.setattr(judging, "suite_of", misspelt)
    results = judged(job(BYTES, LOSS), runs())
    assert outcomes(results) == ["error", "error"]
    assert "expect_gate_to_hlod" in results.problems[0]
    assert verdict(results).outcome == "not_judgeable"


def test_an_emptied_suite_fails_every_gate(job, runs, monkeypatch):
    monkeypatch.setattr(judging, "suite_of", lambda evidence: [])
    assert outcomes(judged(job(BYTES, LOSS), runs())) == ["error", "error"]


def test_an_emptied_frame_fails_every_gate(job, runs, monkeypatch):
    real = judging.frame_of
    monkeypatch.setattr(judging, "frame_of", lambda *evidence: real(*evidence).iloc[:0])
    results = judged(job(BYTES, LOSS), runs())
    assert outcomes(results) == ["error", "error"]
    assert "0 rows, at least 2" in results.problems[0]


def test_an_expectation_that_raises_is_an_error_and_the_others_still_count(job, runs, monkeypatch):
    real = judging.suite_of

    def aimed_wrong(evidence):
        first, *others = real(evidence)
        return [{**first, "kwargs": {**first["kwargs"], "variant": "nobody"}}, *others]

    monkeypatch.setattr(judging, "suite_of", aimed_wrong)
    assert outcomes(judged(job(BYTES, LOSS), runs())) == ["error", "pass"]


def test_the_bound_in_the_suite_is_the_jobs(job, runs):
    gates = job(BYTES)
    (declared,) = judging.suite_of(judging.gather(gates, runs(), summarise(gates, runs()), ()))
    assert declared["type"] == GATE_EXPECTATION
    assert declared["kwargs"]["highest"] == -0.45
    assert declared["severity"] == "critical"


@pytest.mark.parametrize(
    ("accept", "decisions", "accepted"),
    [
        ("any", ["accepted", "rejected"], True),
        ("any", ["rejected", "not_judgeable"], False),
        ("any", [], False),
        ("all", ["accepted", "accepted"], True),
        ("all", ["accepted", "not_judgeable"], False),
        ("all", [], False),
        ("report", ["rejected"], True),
    ],
)
def test_accept_says_when_the_run_succeeds(accept, decisions, accepted):
    verdicts = [Verdict(variant=f"v{place}", outcome=outcome) for place, outcome in enumerate(decisions)]
    assert job_accepted(accept, verdicts) is accepted


@pytest.mark.parametrize("accept", ["any", "all"])
def test_the_baseline_that_holds_its_bounds_is_no_reason_to_accept_a_run(accept, job, runs):
    results = judged(job("{metric: val_loss, at_most: 3.5}", LOSS, accept=accept), runs(loss=0.3))
    assert [(v.variant, v.outcome, v.of_baseline) for v in results.verdicts] == [
        ("baseline", "accepted", True),
        ("topk", "rejected", False),
    ]
    assert not results.accepted


def test_the_baseline_that_breaks_its_bounds_rejects_no_other_variant(job, runs):
    bound = "{metric: bytes_on_wire, at_most: 500}"
    results = judged(job(bound, LOSS, accept="all"), runs())
    assert [verdict.outcome for verdict in results.verdicts] == ["rejected", "accepted"]
    assert results.accepted
