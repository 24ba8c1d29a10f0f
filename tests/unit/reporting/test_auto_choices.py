"""A report says what ``algorithm: auto`` chose, from what the trainings left in the run's store."""

from __future__ import annotations

import boto3
import pytest
from moto import mock_aws

from seedance_ops.jobs.run_store import RunStore
from seedance_ops.reporting.auto_choices import AutoChoices, auto_choices
from seedance_ops.reporting.html import render_html
from seedance_ops.reporting.markdown import render_markdown
from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.compression.auto.decision import (
    DECISION_FILE,
    Decision,
    InObjectStore,
    Prediction,
    Verdict,
)
from tests.unit.reporting.conftest import JOB, judge_run, manifest_of, tables_of
from tests.unit.reporting.test_report import report_of

AUTO_JOB = JOB.replace("{algorithm: bf16}", "{algorithm: auto}")
DECISION = Decision(
    chosen="powersgd",
    from_step=10,
    made_by="seed 0, submission 1",
    world_size=2,
    bf16_step_s=0.540,
    bf16_wait_s=0.300,
    bf16_exchange_s=0.340,
    latency_s=0.001,
    bytes_per_s=25e6,
    predictions=(Prediction(algorithm="powersgd", step_s=0.320, exchange_s=0.1, bytes_on_wire=10**6),),
    probe_s=1.0,
)
PREDICTED = (
    "chose powersgd from step 11 on, on a link of 200 Mbit/s: predicted 320.0 ms against 540.0 ms a step in "
    "bf16, "
)


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    with mock_aws():
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
        yield RunStore(StorageLocation(uri="s3://bucket/runs", region="us-east-1"), "tiny", "run-1")


@pytest.fixture(scope="module")
def manifest():
    return manifest_of(AUTO_JOB)


def leave(run, decision, verdict=None):
    record = InObjectStore(ObjectStore(run.decisions("bf16")))
    record.settle(DECISION_FILE, decision)
    if verdict:
        record.settle(decision.verdict_file(), verdict)


def verdict(*, kept):
    return Verdict(
        kept=kept, steps=30, made_by="seed 1", actual_step_s=0.333, predicted_step_s=0.32, bf16_step_s=0.54
    )


@pytest.mark.parametrize(
    ("decision", "found", "sentence"),
    [
        (DECISION, verdict(kept=True), PREDICTED + "it took 333.0 ms"),
        (
            DECISION,
            verdict(kept=False),
            PREDICTED + "it took 333.0 ms and was given up for bf16 in all seeds",
        ),
        (DECISION, None, PREDICTED + "it was not tried for long enough"),
        (
            DECISION.model_copy(update={"chosen": "bf16"}),
            None,
            "stayed with bf16 on a link of 200 Mbit/s: nothing was predicted to save enough of 540.0 ms a "
            "step in bf16",
        ),
    ],
    ids=["kept", "given up", "not judged", "fallback"],
)
def test_what_was_chosen_is_said(run, manifest, decision, found, sentence):
    leave(run, decision, found)
    (choice,) = auto_choices(run, manifest).choices
    assert (choice.variant, choice.sentence) == ("bf16", sentence)


def test_nothing_is_said_where_nothing_was_decided_or_nothing_was_to_choose(run, manifest):
    assert auto_choices(run, manifest) == AutoChoices()
    leave(run, DECISION)
    assert auto_choices(run, manifest_of(JOB)) == AutoChoices()


def test_a_decision_that_cannot_be_read_is_a_problem_and_no_failure(run, manifest):
    ObjectStore(run.decisions("bf16")).put(DECISION_FILE, b"{}")
    found = auto_choices(run, manifest)
    assert not found.choices
    (problem,) = found.problems
    assert problem.startswith("what auto chose in bf16 is not known: s3://bucket/runs/tiny/")


def test_page_and_comment_say_it(run, manifest):
    leave(run, DECISION, verdict(kept=True))
    report = report_of(judge_run(manifest, tables_of(manifest)), auto=auto_choices(run, manifest))
    page = render_html(report)
    assert PREDICTED + "it took 333.0 ms" in page
    assert "decided by seed 0, submission 1" in page
    assert "**bf16** chose powersgd from step 11 on" in render_markdown(report)
