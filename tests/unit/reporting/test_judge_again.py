"""A finished run judged by other gates and prices, from its raw tables alone."""

from __future__ import annotations

import boto3
import pytest
from moto import mock_aws

from seedance_ops.cost.catalogue import PriceCatalogue, PriceEntry
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.quality.approvals import approvals_of
from seedance_ops.reporting.curves import curves_of
from seedance_ops.reporting.judge_again import DifferentRuns, judge_again
from seedance_ops.reporting.run_tables import CURVE_COLUMNS, RunTables
from seedance_ops.storage.config import StorageLocation
from tests.unit.reporting.conftest import JOB, PRICE, manifest_of


@pytest.fixture(scope="module")
def left_behind(judged):
    """The tables of one run in a simulated store, for all tests here: what one writes, it removes."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        sign_in(patch)
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
        run = RunStore(StorageLocation(uri="s3://bucket/runs", region="us-east-1"), "tiny", "run-1")
        run.write_stamp({"job": "tiny"})
        judged.tables.write(run)
        prices = dict.fromkeys(judged.manifest.job.variants, PRICE)
        yield run, judged.manifest.model_copy(update={"prices": prices})


@pytest.fixture
def stored(left_behind, monkeypatch):
    sign_in(monkeypatch)
    return left_behind


def sign_in(patch):
    patch.setenv("AWS_ACCESS_KEY_ID", "id")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "key")


def verdicts(report):
    return {verdict.variant: verdict.outcome for verdict in report.verdicts}


def test_the_same_gates_give_the_same_verdict(stored, judged):
    report = judge_again(*stored)
    assert verdicts(report) == {v.variant: v.outcome for v in judged.gates.verdicts}
    assert report.gates == judged.gates.gates


def test_another_bound_gives_another_verdict(stored):
    laxer = manifest_of(JOB.replace("absolute: 0.05", "absolute: 0.9")).job
    assert verdicts(judge_again(*stored)) == {"bf16": "accepted", "topk": "rejected"}
    assert verdicts(judge_again(*stored, job=laxer)) == {"bf16": "accepted", "topk": "accepted"}


def test_an_approval_gate_that_fails_waits_for_a_person(stored):
    asking = manifest_of(JOB.replace("absolute: 0.05}", "absolute: 0.05}, severity: approval")).job
    report = judge_again(*stored, job=asking.model_copy(update={"accept": "all"}))
    assert verdicts(report) == {"bf16": "accepted", "topk": "needs_approval"}
    assert not report.accepted


def test_another_price_gives_another_bill(stored, tmp_path):
    entry = PriceEntry.model_validate(
        PRICE.model_dump(include={"source", "date", "basis"})
        | {"usd_per_accelerator_hour": 3 * PRICE.usd_per_accelerator_hour}
    )
    catalogue = PriceCatalogue(file=tmp_path / "prices.yaml", entries={"local-cpu": entry})
    before, after = judge_again(*stored), judge_again(*stored, catalogue=catalogue)
    assert after.study.usd == pytest.approx(3 * before.study.usd)


def test_a_report_reads_no_more_of_the_steps_than_its_curves_need(stored, judged):
    read = RunTables.read(stored[0], curves_only=True)
    assert tuple(read.steps.columns) == CURVE_COLUMNS
    assert len(read.steps) == len(judged.tables.steps)
    assert curves_of(read, "val_loss") == curves_of(judged.tables, "val_loss")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k_ratio: 0.01", "k_ratio: 0.02"),
        ("seeds: 5", "seeds: 4"),
        ("steps: 6", "steps: 7"),
        ("name: tiny", "name: other"),
    ],
)
def test_a_job_that_trains_something_else_is_refused(stored, old, new):
    assert old in JOB
    with pytest.raises(DifferentRuns):
        judge_again(*stored, job=manifest_of(JOB.replace(old, new)).job)


def test_an_answer_is_kept_under_the_same_gates_and_findings(stored):
    run, manifest = stored
    job = manifest_of(JOB.replace("absolute: 0.05}", "absolute: 0.05}, severity: approval")).job
    manifest = manifest.model_copy(update={"job": job})
    waiting = [found for found in judge_again(run, manifest).verdicts if found.outcome == "needs_approval"]
    run.write("approvals.json", approvals_of(waiting, ["Approve topk"], by="Ada", by_id="7", at=None))
    try:
        assert verdicts(judge_again(run, manifest))["topk"] == "accepted"
        assert verdicts(judge_again(run, manifest, job=job))["topk"] == "needs_approval"
    finally:
        run.forget("approvals.json")
