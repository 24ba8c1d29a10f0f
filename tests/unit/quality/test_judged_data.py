"""Unsound data make a variant not judgeable, whatever its gates say; doubtful data are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from seedance_ops.jobs.gates import Change, Gate
from seedance_ops.quality import judge as judging
from seedance_ops.quality.data.gather import DataEvidence, gather_data
from seedance_ops.quality.judge import judge
from seedance_ops.quality.statistics import summarise
from seedance_ops.quality.suite_files import load_suite, load_suite_text

LOSS = "{metric: val_loss, compared_to: baseline, equivalent_within: {absolute: 0.05}}"
BYTES = "{metric: bytes_on_wire, compared_to: baseline, change_at_most: {relative: -0.45}}"
OWN_LEVEL = "{metric: val_loss, at_most: 4.0, variants: [topk]}"
WARNED = LOSS.replace("}}", "}, severity: warning}")
NAMES = [
    "complete",
    "finite",
    "finite",
    "utilisation_in_range",
    "monotone_steps",
    "bytes_consistent",
    "price_sane",
    "f_p_consistent",
]


def judged(manifest, tables, *, suite=None, missing=()):
    statistics = summarise(manifest.job, tables.runs)
    data = gather_data(suite or load_suite(None), manifest, tables, statistics)
    return judge(manifest.job, tables.runs, statistics, missing, data=data)


def verdict(results, variant="topk"):
    return next(verdict for verdict in results.verdicts if verdict.variant == variant)


def outcomes(results, variant="topk"):
    return {check.check: check.outcome for check in results.data_checks if check.variant == variant}


def broken(tables, column, value, variant="topk"):
    steps = tables.steps.copy()
    place = steps.index[steps["variant"] == variant][0]
    steps[column] = steps[column].astype("float64")
    steps.loc[place, column] = value
    return replace(tables, steps=steps)


def test_sound_data_leave_the_verdict_to_the_gates(manifest, tables):
    results = judged(manifest(LOSS, BYTES), tables)
    assert [check.name for check in results.data_checks if check.variant == "topk"] == NAMES
    assert {check.outcome for check in results.data_checks} == {"pass"}
    assert verdict(results).outcome == "accepted"
    assert verdict(results).warnings == ()
    assert results.suite_sha256 == load_suite(None).sha256


@pytest.mark.parametrize(
    ("check", "damage"),
    [
        ("0:complete", lambda t: replace(t, steps=t.steps[(t.steps["rank"] == 0) | (t.steps["seed"] != 1)])),
        ("0:complete", lambda t: replace(t, steps=pd.concat([t.steps, t.steps.iloc[-1:]]))),
        ("0:complete", lambda t: replace(t, launches=pd.concat([t.launches, t.launches.assign(seed=7)]))),
        ("0:complete", lambda t: replace(t, evaluations=t.evaluations.assign(variant="int8"))),
        ("1:finite", lambda t: broken(t, "step_time_s", np.nan)),
        ("3:utilisation_in_range", lambda t: broken(t, "cpu_utilisation", 80.0)),
        ("4:monotone_steps", lambda t: broken(t, "started_at_s", 5000.0)),
        ("5:bytes_consistent", lambda t: broken(t, "bytes_on_wire", 8000.0 * 10)),
    ],
)
def test_unsound_data_are_not_judgeable_and_the_first_reason(check, damage, manifest, tables):
    results = judged(manifest(LOSS, BYTES), damage(tables))
    assert outcomes(results)[check] == "fail"
    assert [gate.outcome for gate in results.gates] == ["pass", "pass"], "the gates alone would accept it"
    assert verdict(results).outcome == "not_judgeable"
    assert verdict(results).reasons[0].startswith(f"data of topk: {check[2:]} fails, ")
    assert not results.accepted


def test_unsound_data_of_the_baseline_concern_what_is_compared_to_it(manifest, tables):
    damaged = broken(tables, "step_time_s", np.inf, variant="baseline")
    results = judged(manifest(LOSS), damaged)
    assert outcomes(results)["1:finite"] == "pass"
    assert verdict(results).outcome == "not_judgeable"
    assert verdict(results).reasons[0].startswith("data of baseline: finite fails, 1 violations")


def test_and_no_gate_that_compares_to_nothing(manifest, tables):
    damaged = broken(tables, "step_time_s", np.inf, variant="baseline")
    assert verdict(judged(manifest(OWN_LEVEL), damaged)).outcome == "accepted"


def test_a_gate_that_only_warns_is_no_more_than_doubtful_by_them(manifest, tables):
    damaged = broken(tables, "step_time_s", np.inf, variant="baseline")
    found = verdict(judged(manifest(OWN_LEVEL, WARNED), damaged))
    assert found.outcome == "accepted"
    assert found.warnings[0].startswith("data of baseline: finite fails")


def test_a_check_of_severity_warning_is_told_and_rejects_nothing(manifest, tables):
    results = judged(manifest(LOSS), broken(tables, "train_loss", np.nan))
    assert outcomes(results)["2:finite"] == "fail"
    found = verdict(results)
    assert found.outcome == "accepted"
    assert found.warnings == (
        "data of topk: finite fails, 1 violations in 18 checked "
        "(train_loss is missing or NaN at seed 0 rank 0 step 1)",
    )


def test_a_rejection_by_unsound_data_is_none(manifest, tables, runs):
    worse = replace(broken(tables, "step_time_s", np.nan), runs=runs(loss=0.3, seeds=3))
    found = verdict(judged(manifest(LOSS), worse))
    assert found.outcome == "not_judgeable"
    assert "data of topk: finite fails" in found.reasons[0]
    assert "wanted within ±0.05: over by" in found.reasons[1]


def test_nothing_to_look_at_is_told_from_a_failure(manifest, tables):
    gone = replace(tables, steps=tables.steps[tables.steps["variant"] != "topk"])
    found = outcomes(judged(manifest(LOSS), gone))
    assert found["0:complete"] == "fail"
    assert found["1:finite"] == found["4:monotone_steps"] == found["5:bytes_consistent"] == "not_judgeable"


def test_a_run_without_a_price_is_not_judgeable(manifest, tables):
    planned = manifest(LOSS)
    planned = planned.model_copy(update={"prices": {"baseline": planned.prices["baseline"]}})
    results = judged(planned, tables)
    assert outcomes(results)["6:price_sane"] == "not_judgeable"
    assert "price_sane is not judgeable: the run was planned without a price" in verdict(results).reasons[0]


def test_a_price_of_nan_fails(manifest, tables):
    planned = manifest(LOSS)
    price = planned.prices["topk"].model_copy(update={"usd_per_accelerator_hour": float("nan")})
    planned = planned.model_copy(update={"prices": planned.prices | {"topk": price}})
    results = judged(planned, tables)
    assert outcomes(results)["6:price_sane"] == "fail"
    assert verdict(results).outcome == "not_judgeable"


def test_a_program_without_step_records_is_held_to_what_it_has(manifest, tables):
    empty = replace(tables, steps=tables.steps.iloc[:0])
    results = judged(manifest(LOSS, runtime="none"), empty)
    assert list(outcomes(results)) == [
        "0:complete",
        "3:utilisation_in_range",
        "6:price_sane",
        "7:f_p_consistent",
    ]
    assert verdict(results).outcome == "accepted"


def test_a_target_never_reached_is_not_judgeable_and_its_data_are_sound(manifest, tables):
    runs = tables.runs.assign(usd_to_target_quality=np.where(tables.runs["variant"] == "topk", np.nan, 1.0))
    planned = manifest("{metric: val_loss, compared_to: baseline, non_inferior_within: {absolute: 0.05}}")
    gate = Gate(metric="usd_to_target_quality", compared_to="baseline", change_at_most=Change(relative=0.0))
    planned = planned.model_copy(update={"job": planned.job.model_copy(update={"gates": (gate,)})})
    results = judged(planned, replace(tables, runs=runs))
    assert set(outcomes(results).values()) == {"pass"}
    assert verdict(results).outcome == "not_judgeable"
    assert "no finite value in 3 of 3 runs" in verdict(results).reasons[0]


def test_a_variant_with_one_seed_is_not_judgeable(manifest, tables):
    one = {name: frame[frame["seed"] == 0] for name, frame in tables.named().items()}
    planned = manifest(LOSS)
    repeats = planned.job.repeats.model_copy(update={"seeds": 1})
    planned = planned.model_copy(
        update={
            "job": planned.job.model_copy(update={"repeats": repeats}),
            "runs": tuple(run for run in planned.runs if run.seed == 0),
        }
    )
    results = judged(planned, type(tables)(**one))
    assert outcomes(results)["0:complete"] == "pass"
    assert verdict(results).outcome == "not_judgeable"
    assert "has 1 runs; at least 3 are needed" in verdict(results).reasons[0]


def test_mostly_excuses_a_share(manifest, tables):
    damaged = broken(tables, "step_time_s", np.nan)
    text = (
        "expectations: [{type: expect_steps_to_be_finite, kwargs: {columns: [step_time_s], mostly: SHARE}}]"
    )
    lax, strict = (
        load_suite_text(text.replace("SHARE", share), Path("data.yaml")) for share in ("0.94", "0.95")
    )
    # One of 18 cells: 94.4 % are as they must be.
    assert outcomes(judged(manifest(LOSS), damaged, suite=lax)) == {"0:finite": "pass"}
    assert outcomes(judged(manifest(LOSS), damaged, suite=strict)) == {"0:finite": "fail"}


def test_a_misspelt_expectation_fails_every_gate_and_every_check(manifest, tables, monkeypatch):
    """One that got past the loader: Great Expectations would drop it, and call the rest a success."""
    real = judging.declared_of

    def misspelt(facts):
        first, *others = real(facts)
        return [{**first, "type": "expect_runs_to_be_compleet"}, *others]

    monkeypatch.setattr(judging, "declared_of", misspelt)
    results = judged(manifest(LOSS, BYTES), tables)
    assert {gate.outcome for gate in results.gates} == {"error"}
    assert {check.outcome for check in results.data_checks} == {"error"}
    assert "expect_runs_to_be_compleet" in results.problems[0]
    assert not results.accepted


def test_a_suite_that_cannot_be_read_fails_every_gate(manifest, tables):
    job, statistics = manifest(LOSS).job, summarise(manifest(LOSS).job, tables.runs)
    data = DataEvidence.unusable("include/expectations/data.yaml:2:12: not one of the allowed values")
    results = judge(job, tables.runs, statistics, (), data=data)
    assert [gate.outcome for gate in results.gates] == ["error"]
    assert results.problems == data.problems
    assert verdict(results).outcome == "not_judgeable"
    assert results.suite_sha256 is None


def test_a_check_that_raises_is_an_error_and_the_others_still_count(manifest, tables, monkeypatch):
    real = judging.declared_of

    def aimed_wrong(facts):
        first, *others = real(facts)
        return [{**first, "kwargs": {**first["kwargs"], "variant": "nobody"}}, *others]

    monkeypatch.setattr(judging, "declared_of", aimed_wrong)
    results = judged(manifest(LOSS), tables)
    assert outcomes(results, "baseline")["0:complete"] == "error"
    assert set(outcomes(results).values()) == {"pass"}
    assert [gate.outcome for gate in results.gates] == ["pass"]
    assert "could not be checked" in verdict(results).reasons[0]
