"""``seedance report`` of an audit: the page, the data and the comment, as it left them or recomputed."""

from __future__ import annotations

import json
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from seedance_ops.audit.recompute import audit
from seedance_ops.jobs.audit_manifest import FIGURES, MANIFEST, AuditManifest
from seedance_ops.jobs.loader import load_job_file
from seedance_ops.jobs.published_file import load_published_text
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.quality.audit_gate import judge_audit
from seedance_ops.reporting.audit_report import build_audit_report
from seedance_ops.storage.config import StorageLocation
from tests.unit.cli.test_report_commands import invoke, name_store

ROOT = Path(__file__).parents[3]
NEWER, OLDER = "manual__2026-12-02T06:00:00+00:00", "scheduled__2026-12-01T06:00:00+00:00"


def store_audit(base, run_id, *, report=True):
    loaded = load_job_file(ROOT / "include/jobs/audit_seedance.yaml")
    text = (ROOT / loaded.job.published).read_text(encoding="utf-8")
    published = load_published_text(text, Path(FIGURES))
    manifest = AuditManifest(job=loaded.job, source="a.yaml", run_id=run_id, published_sha256="0" * 64)
    run = RunStore(base, loaded.job.metadata.name, run_id)
    run.write(MANIFEST, manifest)
    run.write_text(FIGURES, text)
    if report:
        findings = audit(published)
        verdict = judge_audit(findings, loaded.job.accept)
        run.write("report.json", build_audit_report(manifest, published, findings, verdict))
    return run


@pytest.fixture(scope="module")
def bucket():
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        name_store(patch)
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
        base = StorageLocation(uri="s3://bucket/runs", region="us-east-1")
        store_audit(base, OLDER, report=False)
        yield store_audit(base, NEWER)


@pytest.fixture
def stored(bucket, monkeypatch):
    name_store(monkeypatch)
    return bucket


@pytest.mark.parametrize(
    ("form", "beginning"),
    [("html", "<!doctype html>"), ("json", "{"), ("markdown", "### ")],
)
def test_the_newest_audit_is_printed_in_every_format_and_exits_by_its_verdict(stored, form, beginning):
    result = invoke("report", "audit-seedance", "--format", form)
    manifest = stored.read(MANIFEST, AuditManifest)
    accepted = manifest.job.accept == "report"
    assert result.exit_code == (0 if accepted else 1), result.stderr
    assert result.stdout.startswith(beginning)
    assert "anova" in result.stdout
    if form == "json":
        assert json.loads(result.stdout)["run_id"] == NEWER


def test_a_comment_lists_what_does_not_follow_and_nothing_else(stored):
    text = invoke("report", "audit-seedance", "--format", "markdown").stdout
    report = json.loads(stored.text("report.json"))
    wrong = [row for row in report["findings"] if row["outcome"] != "agrees"]
    assert sum(line.startswith("| ") for line in text.splitlines()) == len(wrong) + 2
    assert report["headline"] in text


def test_an_audit_that_left_no_report_is_recomputed_from_its_figures(stored):
    found = invoke("report", f"audit-seedance/{OLDER}", "--format", "json")
    assert found.exit_code in (0, 1), found.stderr
    again, left = json.loads(found.stdout), json.loads(stored.text("report.json"))
    assert again["run_id"] == OLDER
    assert again["findings"] == left["findings"]
    assert again["verdict"] == left["verdict"]


def test_an_audit_is_neither_compared_nor_promoted(stored):
    for command in (["diff", "audit-seedance", "audit-seedance"], ["promote", "audit-seedance"]):
        result = invoke(*command)
        assert result.exit_code == 2
        assert "not the run of a TrainingJob" in result.stderr


def test_an_unknown_run_is_still_named(stored):
    assert "nothing-like-it" in invoke("report", "nothing-like-it").stderr
