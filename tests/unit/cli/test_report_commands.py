"""``seedance report``, ``diff`` and ``promote`` on runs in an object store, and on job files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner

from seedance_ops.cli.app import app
from seedance_ops.cli.finished_run import find_run
from seedance_ops.cli.job_file import load_job_or_exit
from seedance_ops.jobs.catalog import launcher_profile
from seedance_ops.jobs.identity import settings_hash
from seedance_ops.jobs.loader import load_job_text
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.jobs.screening import ScreenedVariant, Screening
from seedance_ops.planning.history import History, HistoryRecord, Observation
from seedance_ops.reporting.report import failed_report
from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import URI_VARIABLE, StorageLocation
from tests.unit.reporting.conftest import JOB, PRICE, judge_run, manifest_of, tables_of
from tests.unit.reporting.test_report import report_of
from tests.unit.reporting.test_screen import PHASED

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Stored:
    base: StorageLocation
    report: object


def store_run(base, run_id, *, usd=0.36, text=JOB, stamp=None):
    manifest = manifest_of(text, run_id)
    price = PRICE.model_copy(update={"usd_per_accelerator_hour": usd})
    manifest = manifest.model_copy(update={"prices": dict.fromkeys(manifest.job.variants, price)})
    judged = judge_run(manifest, tables_of(manifest))
    run = RunStore(base, "tiny", run_id)
    run.write("manifest.json", manifest)
    run.write_stamp(stamp or {"job": "tiny", "run_id": run_id, "git_commit": run_id})
    judged.tables.write(run)
    report = report_of(judged, run.stamp())
    run.write("report.json", report)
    return report


@pytest.fixture(scope="module")
def bucket():
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        name_store(patch)
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
        base = StorageLocation(uri="s3://bucket/runs", region="us-east-1")
        yield Stored(base, store_run(base, "run-1"))


@pytest.fixture
def stored(bucket, monkeypatch):
    name_store(monkeypatch)
    return bucket


def name_store(patch):
    patch.setenv("AWS_ACCESS_KEY_ID", "id")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    patch.setenv(URI_VARIABLE, "s3://bucket/runs")
    patch.delenv("AWS_ENDPOINT_URL", raising=False)
    patch.delenv("AWS_ENDPOINT_URL_S3", raising=False)


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_report_is_printed_as_it_was_left(stored):
    result = invoke("report", "tiny/run-1", "--format", "json")
    assert result.exit_code == 0, result.output
    assert result.stdout == stored.report.as_json() + "\n"


@pytest.mark.parametrize(
    ("file", "beginning"), [("a.html", "<!doctype html>"), ("a.md", "### bf16 accepted"), ("a.json", "{")]
)
def test_the_suffix_of_the_output_chooses_the_format(stored, tmp_path, file, beginning):
    result = invoke("report", "tiny", "--output", tmp_path / "new" / file)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "new" / file).read_text(encoding="utf-8").startswith(beginning)
    assert result.stdout == ""


def test_a_suffix_of_no_format_is_refused_with_the_known_ones(stored, tmp_path):
    result = invoke("report", "tiny", "--output", tmp_path / "a.foo")
    assert result.exit_code == 2
    assert "a.foo: the suffix must be one of .html, .json, .md; or say --format" in result.stderr
    assert not (tmp_path / "a.foo").exists()
    assert invoke("report", "tiny", "--output", tmp_path / "a.foo", "--format", "json").exit_code == 0


def test_a_run_that_is_not_accepted_exits_with_1_and_an_unknown_one_with_2(stored):
    failed = RunStore(stored.base, "tiny", "run-0")
    manifest = manifest_of(JOB, "run-0").model_copy(update={"planned_at_s": -1.0})
    failed.write("manifest.json", manifest)
    failed.write("report.json", failed_report(manifest, {}, ["stage train failed"]))
    assert invoke("report", "tiny/run-0", "--format", "markdown").exit_code == 1
    unknown = invoke("report", "tiny/run-9")
    assert unknown.exit_code == 2
    assert "there are: run-0, run-1" in unknown.stderr
    assert invoke("report").exit_code == 2


@pytest.fixture
def unfinished(stored, monkeypatch):
    """A newer run that was planned, and of whose fifteen trainings one has ended."""
    monkeypatch.setenv("AIRFLOW_HOME", "/nonexistent")
    manifest = manifest_of(JOB, "run-late").model_copy(update={"planned_at_s": 1e11})
    run = RunStore(stored.base, "tiny", "run-late")
    run.write("manifest.json", manifest)
    run.objects.put("topk/seed-0/take-1/launches/submission-001.json", b"{}")
    yield run
    run.objects.delete(*run.objects.list())


@pytest.mark.parametrize(
    ("command", "what"),
    [("report", "a report"), ("judge", "its tables"), ("ledger", "a bill"), ("promote", "a report")],
)
def test_a_run_that_has_not_ended_is_told_its_state_and_what_to_do(unfinished, command, what):
    result = invoke(command, "tiny/run-late")
    assert result.exit_code == 2, result.output
    assert f"error: run run-late of job tiny does not have {what}: 1 of 15 trainings have ended" in (
        result.stderr
    )
    assert "still running, then wait for its end; or it was cancelled before its end" in result.stderr
    assert "run it again with `seedance run include/jobs/tiny.yaml`" in result.stderr


def test_a_job_means_its_newest_run_that_has_what_is_asked_for(unfinished):
    result = invoke("report", "tiny", "--format", "json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["run_id"] == "run-1"
    assert "note: run run-late of job tiny does not have a report" in result.stderr
    assert result.stderr.rstrip().endswith("This is run-1")


@pytest.mark.parametrize(
    ("says", "words"), [("running", "yet: it is still running"), ("failed", "Airflow says failed")]
)
def test_where_airflow_runs_it_is_asked(unfinished, monkeypatch, says, words):
    monkeypatch.setattr("seedance_ops.cli.finished_run.airflow_state", lambda job, run_id: says)
    assert words in invoke("diff", "tiny/run-late", "tiny/run-1").stderr


def test_a_report_of_another_version_is_built_anew(stored):
    run = RunStore(stored.base, "tiny", "run-1")
    text = run.text("report.json")
    try:
        run.write_text("report.json", '{"schema_version": 0}')
        result = invoke("report", "tiny/run-1", "--format", "json")
    finally:
        run.write_text("report.json", text)
    assert result.exit_code == 0, result.output
    assert "built anew" in result.stderr
    found, before = json.loads(result.stdout), json.loads(text)
    assert found["verdicts"] == before["verdicts"]
    assert found["bill"]["total_usd"] == pytest.approx(before["bill"]["total_usd"])


def test_the_schema_needs_no_run():
    result = invoke("report", "--schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["title"] == "Report"


def test_two_runs_differ_in_price_stamp_and_cost(stored):
    store_run(stored.base, "run-2", usd=0.72, stamp={"job": "tiny", "run_id": "run-2", "git_commit": "new"})
    result = invoke("diff", "tiny/run-1", "tiny/run-2", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    changed = {row["path"]: (row["a"], row["b"]) for row in found["settings"]}
    assert changed == {
        f"prices.{name}.usd_per_accelerator_hour": (0.36, 0.72) for name in ("baseline", "bf16", "topk")
    }
    assert found["stamp"] == [{"path": "git_commit", "a": "run-1", "b": "new"}]
    # Both runs have the same times, made up from one seed: twice the price is twice the bill.
    assert [row["b_usd"] / row["a_usd"] for row in found["cost"]] == pytest.approx([2.0] * 4, rel=0.2)
    assert {row["variant"]: (row["a"], row["b"]) for row in found["verdicts"]}["bf16"] == (
        "accepted",
        "accepted",
    )
    assert "prices.bf16.usd_per_accelerator_hour" in invoke("diff", "tiny/run-1", "tiny/run-2").stdout


@pytest.fixture
def two_files(project, stored):
    """The example job, and a copy with half the samples and twice the seeds."""
    text = Path("include/jobs/char_gpt.yaml").read_text(encoding="utf-8")
    Path("other.yaml").write_text(
        text.replace("seeds: 5", "seeds: 10").replace("samples: 960}", "samples: 480}"), encoding="utf-8"
    )
    return "include/jobs/char_gpt.yaml", "other.yaml"


@pytest.fixture
def history(stored):
    """Where judged runs of the example job are remembered; empty again for the next test."""
    yield History(stored.base, "char-gpt")
    ObjectStore(stored.base.child("_history", "char-gpt")).delete("earlier.json")


def remember(history, *, seconds, file):
    """A judged run of the example job, of which every training of the baseline took so long."""
    observations = [Observation(variant="baseline", metric="run_s", values=(seconds, seconds))]
    job, project = load_job_or_exit(Path(file))
    profile = launcher_profile(job.launcher, project)
    settings = {"baseline": settings_hash(job, "baseline", profile)}
    record = HistoryRecord(
        job="char-gpt", job_hash="0", run_id="earlier", ended_at_s=1.0, accepted=(), run_accepted=True,
        baseline="baseline", observations=tuple(observations), usd_per_accelerator_hour={}, stamp={},
        settings=settings,
    )  # fmt: skip
    history.append(record)


def test_two_job_files_differ_by_dotted_path_and_in_what_they_would_cost(two_files):
    result = invoke("diff", *two_files, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert {row["path"]: (row["a"], row["b"]) for row in found["settings"]} == {
        "repeats.seeds": (5, 10),
        "workload.stop.samples": (960, 480),
    }
    costs = {row["what"]: (row["a_usd"], row["b_usd"]) for row in found["cost"]}
    assert costs["study"][1] == pytest.approx(2 * costs["study"][0])  # by its deadline, for want of history
    assert costs["bf16"][1] == pytest.approx(costs["bf16"][0])
    assert {row["a_basis"] for row in found["cost"][:-1]} == {"bound"}
    assert found["notes"][0].startswith("include/jobs/char_gpt.yaml: no earlier run of char-gpt")
    assert len(found["notes"]) == 2


def test_a_file_is_estimated_from_earlier_runs_with_the_same_settings(two_files, history):
    remember(history, seconds=90.0, file=two_files[1])
    result = invoke("diff", *two_files, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    baseline = next(row for row in found["cost"] if row["what"] == "baseline")
    assert (baseline["a_basis"], baseline["b_basis"]) == ("bound", "history")
    # Two cores for 90 s at 0.0425 USD an hour each, by the catalogue.
    assert baseline["b_usd"] == pytest.approx(2 * 0.0425 * 90 / 3600)
    assert found["notes"][-1].endswith("so their ratio says little: baseline")
    printed = invoke("diff", *two_files)
    assert "estimated by its deadline" in printed.stdout


def test_a_store_without_a_bucket_has_no_earlier_run_and_one_that_is_away_is_named(two_files, monkeypatch):
    monkeypatch.setenv(URI_VARIABLE, "s3://not-yet-made/runs")
    result = invoke("estimate", two_files[0])
    assert (result.exit_code, result.stderr) == (0, "")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("seedance_ops.planning.history._PATIENCE_S", 0.0)
    result = invoke("estimate", two_files[0])
    assert result.exit_code == 0
    assert "warning: estimated without earlier runs, which cannot be read" in result.stderr


def test_a_file_and_a_run_are_not_compared(project):
    result = invoke("diff", "include/jobs/char_gpt.yaml", "tiny")
    assert result.exit_code == 2
    assert "two job files or two runs" in result.stderr


def test_promoting_writes_a_valid_job(stored, tmp_path):
    file = tmp_path / "promoted.yaml"
    result = invoke("promote", "tiny/run-1", "--output", file)
    assert result.exit_code == 0, result.output
    job = load_job_text(file.read_text(encoding="utf-8"), file, project=None).job
    assert job.variants["baseline"].gradient_compression.algorithm == "bf16"
    printed = invoke("promote", "tiny/run-1", "--drop-previous")
    assert "previous-baseline" not in printed.stdout


def test_what_was_not_accepted_is_not_promoted(stored):
    result = invoke("promote", "tiny/run-1", "--variant", "topk")
    assert result.exit_code == 1
    assert "topk was not accepted; accepted: bf16" in result.stderr
    assert result.stdout == ""


def test_the_newest_run_of_a_job_is_seen_as_its_screening_left_it(stored):
    manifest = manifest_of(PHASED, "run-phased").model_copy(update={"planned_at_s": 1e10})
    run = RunStore(stored.base, "tiny", "run-phased")
    run.write("manifest.json", manifest)
    rows = [
        ScreenedVariant(variant=name, usd_per_1k_samples=1.0, runs=1, confirmed=name != "bf16", reason="-")
        for name in manifest.job.variants
    ]
    run.write(
        "screening.json",
        Screening(samples=24, variants=tuple(rows), usd=1.0, accelerator_hours=1.0, queue_s=0.0),
    )
    try:
        by_job, by_id = find_run(stored.base, "tiny"), find_run(stored.base, "tiny/run-phased")
        assert by_job.manifest == by_id.manifest
        assert list(by_job.manifest.job.variants) == ["baseline", "topk"]
    finally:
        ObjectStore(stored.base.child("tiny", "run-phased")).delete("_run/manifest.json")


def test_drift_of_a_job_that_left_no_run_is_an_error(stored):
    assert invoke("drift", "nosuch").exit_code == 2
