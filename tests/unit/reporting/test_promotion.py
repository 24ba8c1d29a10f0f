"""The winner becomes the baseline, and everything that named it follows."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from seedance_ops.jobs.loader import load_job_text
from seedance_ops.quality.results import Verdict
from seedance_ops.reporting.promotion import NotPromotable, promote, winner_of
from seedance_ops.reporting.report import failed_report
from tests.unit.reporting.conftest import JOB, manifest_of
from tests.unit.reporting.test_report import report_of


@pytest.fixture(scope="module")
def report(judged):
    return report_of(judged)


def loaded(text):
    return load_job_text(text, Path("new.yaml"), project=None).job


def test_the_accepted_variant_is_the_winner_and_no_other_can_be(report):
    assert winner_of(report) == "bf16"
    assert winner_of(report, "bf16") == "bf16"
    with pytest.raises(NotPromotable, match="topk was not accepted; accepted: bf16"):
        winner_of(report, "topk")


def test_nothing_accepted_is_refused(judged, report):
    with pytest.raises(NotPromotable, match="nothing was accepted"):
        winner_of(failed_report(judged.manifest, {}, ["no"]))
    baseline_alone = (Verdict(variant="baseline", outcome="accepted", of_baseline=True),)
    with pytest.raises(NotPromotable, match="nothing was accepted"):
        winner_of(report.model_copy(update={"verdicts": baseline_alone}))


def test_of_several_the_cheapest_wins(report):
    verdicts = tuple(Verdict(variant=name, outcome="accepted") for name in ("bf16", "topk"))
    answers = tuple(
        answer.model_copy(update={"outcome": "accepted"})
        for name in ("topk", "bf16")
        for answer in report.answers
        if answer.variant == name
    )
    assert winner_of(report.model_copy(update={"verdicts": verdicts, "answers": answers})) == "topk"


def test_the_new_job_has_the_winners_treatment_as_baseline_and_keeps_the_old_one(judged, report):
    old = judged.manifest.job
    new = loaded(promote(old, report, "bf16").yaml)
    assert new.variants == {
        "baseline": old.variants["bf16"],
        "previous-baseline": old.variants["baseline"],
        "topk": old.variants["topk"],
    }
    assert new.baseline == "baseline"
    unchanged = {"workload", "resources", "repeats", "metadata", "gates", "launcher"}
    assert new.model_dump(include=unchanged) == old.model_dump(include=unchanged)


def test_the_old_baseline_can_be_dropped(judged, report):
    new = loaded(promote(judged.manifest.job, report, "bf16", keep_previous=False).yaml)
    assert list(new.variants) == ["baseline", "topk"]


def test_gates_and_params_follow_the_names(report):
    text = JOB.replace("gates:\n", "gates:\n  - {metric: run_s, at_most: 99, variants: [bf16]}\n").replace(
        "compared_to: baseline, change_at_most: {relative: 0.0}",
        "compared_to: bf16, change_at_most: {relative: 0.0}, variants: [baseline, topk]",
    )
    faster = "change_at_least: {relative: 0.1}, variants: [bf16]"
    text += f"  - {{metric: samples_per_s, compared_to: baseline, {faster}}}\n"
    text += "params: [variants.topk.gradient_compression.k_ratio, repeats.seeds]\n"
    old = loaded(text)
    new = yaml.safe_load(promote(old, report, "bf16").yaml)
    gates = {gate["metric"]: gate for gate in new["gates"]}
    assert gates["run_s"]["variants"] == ["baseline"]  # a level is judged wherever the treatment goes
    assert gates["usd_per_run"]["compared_to"] == "baseline"
    assert gates["usd_per_run"]["variants"] == ["previous-baseline", "topk"]
    assert "samples_per_s" not in gates  # it asked the winner to beat what it now is
    assert new["params"] == ["variants.topk.gradient_compression.k_ratio", "repeats.seeds"]
    renamed = yaml.safe_load(promote(old, report, "topk").yaml)
    assert renamed["params"] == ["variants.baseline.gradient_compression.k_ratio", "repeats.seeds"]


def test_a_baseline_of_another_name_becomes_the_baseline_by_name(report):
    old = loaded(
        JOB.replace("  baseline: {}", "  dense: {}").replace("compared_to: baseline", "compared_to: dense")
    )
    new = loaded(promote(old, report, "bf16").yaml)
    assert list(new.variants) == ["baseline", "previous-baseline", "topk"]
    assert {gate.compared_to for gate in new.gates} == {"baseline"}


def test_the_header_says_where_it_is_from_and_cannot_be_broken_out_of(judged, report):
    report = report.model_copy(
        update={"run_id": "x\nkind: Evil", "overrides": {"a.b": 160}, "replaced": {"a.b": 960}}
    )
    text = promote(judged.manifest.job, report, "bf16").yaml
    header = text[: text.index("apiVersion")].splitlines()
    assert all(line.startswith("# ") for line in header)
    assert "keeps no comments" in text
    assert "a.b = 160 (its file says 960)" in text


def test_what_a_treatment_sets_survives_even_null(report):
    text = JOB.replace(
        "  bf16: {", "  bf16: {set: {workload.args.flag: null, checkpoint.interval_steps: 7}, "
    )
    old = manifest_of(text).job
    assert loaded(promote(old, report, "bf16").yaml).variants["baseline"] == old.variants["bf16"]
