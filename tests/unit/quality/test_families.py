"""Several variants under one gate: Holm's correction, and when there is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulations.judging import judged_together

from seedance_ops.jobs.loader import load_job_text
from seedance_ops.quality.evidence import gather
from seedance_ops.quality.families import alpha_of, corrected
from seedance_ops.quality.judge import judge
from seedance_ops.quality.missing import MissingRun
from seedance_ops.quality.statistics import Statistics, summarise
from seedance_ops.stats.outcomes import Interval

JOB = """\
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {name: family}
workload:
  entrypoint: examples/char_gpt.py
  batch: {per_rank: 2}
  stop: {steps: 6}
  quality: {metric: val_loss, better: lower}
launcher: local
variants: {baseline: {}, a: {}, b: {}, c: {}}
repeats: {seeds: SEEDS}
gates:
"""
COST = "{metric: usd_per_run, compared_to: baseline, change_at_most: {absolute: 0.0}VARIANTS}"
ONLY_A = COST.replace("VARIANTS", ", variants: [a]")
COST = COST.replace("VARIANTS", "")
CONDITIONS = [
    "compared_to: baseline, change_at_most: {absolute: BOUND}",
    "compared_to: baseline, change_at_least: {absolute: BOUND}",
    "compared_to: baseline, equivalent_within: {absolute: MARGIN}",
    "compared_to: baseline, non_inferior_within: {absolute: MARGIN}",
    "at_most: BOUND",
    "at_least: BOUND",
]


def job_of(*gates, seeds=3):
    text = JOB.replace("SEEDS", str(seeds)) + "\n".join(f"  - {gate}" for gate in gates)
    return load_job_text(f"{text}\n", Path("job.yaml"), project=None).job


def runs_of(means):
    """Three runs of each variant at mean −1, 0, +1: standard deviation 1."""
    return pd.DataFrame(
        [
            {"variant": name, "seed": seed, "usd_per_run": 100.0 + mean + seed - 1, "bytes_on_wire": 5.0}
            for name, mean in means.items()
            for seed in range(3)
        ]
    )


def judged(job, runs, missing=()):
    return {gate.variant: gate for gate in judge(job, runs, summarise(job, runs), missing).gates}


def test_holms_p_is_that_worked_out_by_hand():
    """t = difference ÷ √(2/3), 4 degrees of freedom. Its upper tail is ½(1 − u(3 − u²)/2), u = t/√(4 + t²).

    Differences −10, −5, −2.5: t = 12.2474, 6.12372, 3.06186; u = 0.986928, 0.950586, 0.837218; the tails are
    1.276e-4, 1.801e-3 and 0.018795. Holm: 3 p, 2 p, p, and never less than the one before.
    """
    found = judged(job_of(COST), runs_of({"baseline": 0.0, "a": -10.0, "b": -5.0, "c": -2.5}))
    assert [found[name].p_value for name in "abc"] == pytest.approx([1.276e-4, 1.801e-3, 0.018795], rel=1e-2)
    assert [found[name].p_adjusted for name in "abc"] == pytest.approx(
        [3 * found["a"].p_value, 2 * found["b"].p_value, found["c"].p_value]
    )
    assert [found[name].family for name in "abc"] == [3, 3, 3]
    assert [found[name].outcome for name in "abc"] == ["pass", "pass", "pass"]


def test_what_holds_alone_may_fail_among_several():
    means = {"baseline": 0.0, "a": -2.5, "b": 0.0, "c": 0.0}
    alone = judged(job_of(ONLY_A), runs_of(means))["a"]
    assert (alone.outcome, alone.family) == ("pass", 1)
    assert alone.p_adjusted == alone.p_value
    together = judged(job_of(COST), runs_of(means))["a"]
    assert together.outcome == "fail"
    assert together.exceeds_by is None
    assert together.p_adjusted == pytest.approx(3 * alone.p_value)
    assert "holds alone (p = 0.0188), but not among the 3 variants" in together.reason
    assert "Holm's adjusted p = 0.05639, wanted at most 0.025" in together.reason


def test_a_variant_that_broke_makes_it_no_easier_for_the_others():
    means = {"baseline": 0.0, "a": -2.5, "b": 0.0, "c": 0.0}
    runs = runs_of(means)
    gone = [MissingRun(variant=name, seed=0, reason="it failed") for name in "bc"]
    found = judged(job_of(COST), runs[(runs["seed"] > 0) | ~runs["variant"].isin(["b", "c"])], gone)
    assert [found[name].outcome for name in "abc"] == ["fail", "not_judgeable", "not_judgeable"]
    assert found["a"].family == 3
    assert found["b"].p_adjusted is None


def test_what_is_counted_is_no_test_and_in_no_family():
    gate = "{metric: bytes_on_wire, compared_to: baseline, change_at_most: {relative: 0.0}}"
    found = judged(job_of(gate), runs_of(dict.fromkeys(("baseline", "a", "b", "c"), 0.0)))
    assert {name: (gate.outcome, gate.family, gate.p_adjusted) for name, gate in found.items()} == (
        dict.fromkeys("abc", ("pass", 1, None))
    )


def test_the_same_question_asked_of_each_variant_by_a_gate_of_its_own_is_one_family():
    found = judge(
        job := job_of(ONLY_A, ONLY_A.replace("[a]", "[b]")),
        runs := runs_of({"baseline": 0.0, "a": -2.5, "b": -2.5, "c": 0.0}),
        summarise(job, runs),
        (),
    )
    assert [(gate.family, gate.outcome) for gate in found.gates] == [(2, "fail"), (2, "fail")], (
        "alone each p is 0.0188"
    )


@pytest.mark.parametrize(
    "other", [ONLY_A.replace("usd_per_run", "val_loss"), ONLY_A.replace("{absolute: 0.0}", "{absolute: 1.0}")]
)
def test_another_question_or_a_second_bound_for_a_variant_is_another_family(other):
    found = judge(
        job := job_of(ONLY_A, other),
        runs := runs_of({"baseline": 0.0, "a": -2.5, "b": 0.0, "c": 0.0}),
        summarise(job, runs),
        (),
    )
    assert [gate.family for gate in found.gates] == [1, 1]


def test_a_bound_that_every_ratio_keeps_holds_in_a_family_too():
    gate = COST.replace("change_at_most: {absolute: 0.0}", "change_at_least: {relative: -1.0}")
    found = judged(job_of(gate), runs_of({"baseline": 0.0, "a": -2.5, "b": 0.0, "c": 1.0}))
    assert {gate.outcome for gate in found.values()} == {"pass"}


@settings(deadline=None, max_examples=60)
@given(
    condition=st.sampled_from(CONDITIONS),
    metric=st.sampled_from(["usd_per_run", "val_loss"]),  # one unpaired, one paired by seed
    bound=st.floats(-3.0, 3.0),
    shift=st.floats(-3.0, 3.0),
    seeds=st.integers(3, 8),
    skewed=st.booleans(),
    draw=st.integers(0, 1000),
)
def test_p_and_interval_never_disagree_in_a_family_of_one(
    *, condition, metric, bound, shift, seeds, skewed, draw
):
    level = not condition.startswith("compared_to")
    bound = bound + (20.0 if level else 0.0)
    written = condition.replace("BOUND", f"{bound:.6f}").replace("MARGIN", f"{abs(bound) + 0.01:.6f}")
    job = job_of(f"{{metric: {metric}, {written}, variants: [a]}}", seeds=seeds)
    generator = np.random.default_rng(draw)
    noise = (lambda n: generator.exponential(1.0, n)) if skewed else (lambda n: generator.normal(0.0, 1.0, n))
    runs = pd.concat(
        [
            pd.DataFrame({"variant": name, "seed": range(seeds), metric: 20.0 + change + noise(seeds)})
            for name, change in (("baseline", 0.0), ("a", shift))
        ]
    )
    (item,) = corrected(gather(job, runs, Statistics(baseline="baseline", levels=(), comparisons=()), ()))
    assert isinstance(item.interval, Interval)
    ends = [
        limit - end
        for limit, end in ((item.limits.highest, item.interval.high), (item.limits.lowest, item.interval.low))
        if limit is not None
    ]
    if min(map(abs, ends)) < 1e-9:
        return  # on the very edge rounding decides
    inside = (item.limits.highest is None or item.interval.high < item.limits.highest) and (
        item.limits.lowest is None or item.interval.low > item.limits.lowest
    )
    assert inside == (item.p_adjusted <= alpha_of(item.gate.condition))


def test_any_of_four_equal_variants_passes_in_5_percent_of_studies_at_most():
    """The judge's own path, at the edge of its bound; three binomial standard errors."""
    studies = 40
    rates = judged_together(5, studies, seed=3)
    assert rates.ours.studies == studies
    assert rates.ours.value <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / studies)


def test_a_gate_on_what_the_screening_stopped_is_listed_and_counts_for_nothing():
    job = job_of(COST)
    runs = runs_of({"baseline": 0.0, "a": -10.0})
    confirmed = job.only({"baseline", "a"})
    statistics = summarise(confirmed, runs)
    alone = judge(confirmed, runs, statistics, ())
    found = judge(confirmed, runs, statistics, (), stopped=("b", "c"))
    assert found.verdicts == alone.verdicts
    assert found.gates[:1] == alone.gates, "no correction for what was never judged"
    assert [(gate.variant, gate.outcome, gate.reason) for gate in found.gates[1:]] == [
        (name, "not_judgeable", "stopped by the screening") for name in ("b", "c")
    ]


def test_a_gate_that_compares_with_what_the_screening_stopped_says_so():
    job = job_of(COST.replace("baseline", "b")).only({"baseline", "a"})
    runs = runs_of({"baseline": 0.0, "a": -10.0})
    found = judge(job, runs, summarise(job, runs), (), stopped=("b", "c"))
    reasons = {gate.variant: gate.reason for gate in found.gates}
    assert reasons["a"] == "b was stopped by the screening, so it has no runs to compare with"
    assert reasons["c"] == "stopped by the screening"
