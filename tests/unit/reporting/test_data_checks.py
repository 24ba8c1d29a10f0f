"""Data checks in the page, in Markdown and as data, and judged again from what a run stored."""

from __future__ import annotations

import json
from dataclasses import replace

import boto3
import pytest
from moto import mock_aws

from seedance_ops.jobs.run_store import RunStore
from seedance_ops.quality.data.gather import gather_data
from seedance_ops.quality.data.of_run import SUITE_FILE, data_of_run
from seedance_ops.quality.data.tables import DataTables
from seedance_ops.quality.judge import judge
from seedance_ops.quality.suite_files import load_suite
from seedance_ops.reporting.html import render_html
from seedance_ops.reporting.judge_again import judge_again
from seedance_ops.reporting.markdown import render_markdown
from seedance_ops.storage.config import StorageLocation
from tests.unit.reporting.conftest import PRICE
from tests.unit.reporting.test_report import report_of


def priced(judged):
    prices = dict.fromkeys(judged.manifest.job.variants, PRICE)
    return replace(judged, manifest=judged.manifest.model_copy(update={"prices": prices}))


def tables_of(judged):
    tables, runs = judged.tables, judged.table.frame.merge(judged.costs[["variant", "seed", "usd_per_run"]])
    return DataTables(runs, tables.launches, tables.steps, tables.evaluations)


def damaged(judged):
    """A negative utilisation in one step of topk, and a loss that is missing in one of bf16."""
    steps = judged.tables.steps.copy()
    steps.loc[steps.index[steps["variant"] == "topk"][0], "cpu_utilisation"] = -0.5
    steps.loc[steps.index[steps["variant"] == "bf16"][0], "train_loss"] = float("nan")
    return replace(judged, tables=replace(judged.tables, steps=steps))


def with_data(judged):
    run = priced(judged)
    data = gather_data(load_suite(None), run.manifest, tables_of(run), run.statistics)
    runs = tables_of(run).runs
    return replace(run, gates=judge(run.manifest.job, runs, run.statistics, run.table.missing, data=data))


def test_sound_data_are_counted(judged):
    report = report_of(with_data(judged))
    checks = report.validity.data_checks
    assert {check.outcome for check in checks} == {"pass"}
    assert report.validity.suite_sha256 == load_suite(None).sha256
    counted = f"{len(checks)} of {len(checks)}"
    assert f"{counted} hold, of the suite <code>{load_suite(None).sha256[:12]}</code>" in render_html(report)
    assert f"{counted} data checks hold." in render_markdown(report)


def test_unsound_data_are_named_in_every_form(judged):
    report = report_of(with_data(damaged(judged)))
    verdict = next(verdict for verdict in report.verdicts if verdict.variant == "topk")
    assert verdict.outcome == "not_judgeable"
    page, text = render_html(report), render_markdown(report)
    panel = page[page.index('id="validity"') :]
    assert "cpu_utilisation is -0.5 in seed" in panel
    assert "<details open><summary>Every data check</summary>" in panel
    assert '<span class="badge fail">✕ fail</span></td><td>topk</td><td>utilisation in range</td>' in panel
    assert (
        '<span class="badge warning">✕ fail</span><small>severity: warning</small></td><td>bf16</td>' in panel
    )
    assert "❌ data of topk: utilisation\\_in\\_range fails, 1 violations in 65 checked" in text
    assert "⚠️ data of bf16: finite fails, 1 violations in 60 checked" in text
    (failed, *_), _ = (
        [check for check in json.loads(report.as_json())["validity"]["data_checks"] if check["outcome"] == o]
        for o in ("fail", "pass")
    )
    assert (failed["check"], failed["variant"], failed["violations"]) == ("2:finite", "bf16", 1)


def test_a_run_judged_without_a_suite_shows_none(judged):
    report = report_of(judged)
    assert report.validity.data_checks == ()
    assert "Data checks" not in render_html(report)
    assert "data checks" not in render_markdown(report)


@pytest.fixture
def store(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    with mock_aws():
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
        run = RunStore(StorageLocation(uri="s3://bucket/runs", region="us-east-1"), "tiny", "run-1")
        run.write_stamp({"job": "tiny"})
        yield run


def project_with(tmp_path, text):
    folder = tmp_path / "include/expectations"
    folder.mkdir(parents=True)
    (folder / "own.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_run_keeps_the_suite_by_which_it_was_judged(store, judged, tmp_path):
    run = damaged(priced(judged))
    run.tables.write(store)
    project = project_with(tmp_path, "expectations: [{type: expect_prices_to_be_sane}]\n")
    data = data_of_run(store, run.manifest, tables_of(run).runs, run.statistics, project=project)
    assert [found.fact.check for found in data.facts] == ["price_sane"] * 3
    assert json.loads(store.text(SUITE_FILE))["expectations"][0]["type"] == "expect_prices_to_be_sane"
    again = judge_again(store, run.manifest)
    assert again.validity.suite_sha256 == load_suite(project).sha256
    assert {check.outcome for check in again.validity.data_checks} == {"pass"}


def test_a_run_without_a_suite_is_judged_again_by_the_built_in_one(store, judged):
    run = damaged(priced(judged))
    run.tables.write(store)
    again = judge_again(store, run.manifest)
    assert again.validity.suite_sha256 == load_suite(None).sha256
    assert [check.variant for check in again.validity.checks_not_held] == ["bf16", "topk"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "expectations: [{type: expect_prices_to_be_san}]\n",
            "include/expectations/own.yaml:1:23: expectations.0.type: not one of the allowed values; "
            "try: expect_prices_to_be_sane",
        ),
        ("{", "include/expectations/own.yaml:2:1: not YAML"),
    ],
)
def test_a_misspelt_suite_is_a_problem_that_fails_every_gate(store, judged, tmp_path, text, words):
    run = priced(judged)
    run.tables.write(store)
    project = project_with(tmp_path, text)
    runs = tables_of(run).runs
    data = data_of_run(store, run.manifest, runs, run.statistics, project=project)
    gates = judge(run.manifest.job, runs, run.statistics, (), data=data)
    assert {gate.outcome for gate in gates.gates} == {"error"}
    assert gates.problems[0].startswith(words)
    assert not gates.accepted
    assert words in render_markdown(report_of(replace(run, gates=gates))).replace("\\", "")


def test_a_hardware_catalogue_that_is_none_is_a_problem_too(store, judged, tmp_path):
    run = priced(judged)
    folder = tmp_path / "include/catalog"
    folder.mkdir(parents=True)
    (folder / "hardware.yaml").write_text("accelerators: 1\n", encoding="utf-8")
    data = data_of_run(store, run.manifest, tables_of(run).runs, run.statistics, project=tmp_path)
    assert "hardware.yaml" in data.problems[0]
