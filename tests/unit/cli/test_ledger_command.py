"""``seedance ledger`` of a job with phases shows both, and sums to what the study is said to have cost."""

from __future__ import annotations

from dataclasses import replace

import boto3
import pytest
from moto import mock_aws

from seedance_ops.cost.focus import read_focus
from seedance_ops.cost.run_cost import price_runs
from seedance_ops.jobs.manifest import plan_screening
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.quality.wording import number
from seedance_ops.reporting.run_table import assemble
from seedance_ops.reporting.screen import screen
from seedance_ops.reporting.study_cost import study_cost_of
from seedance_ops.storage.config import StorageLocation
from tests.unit.cli.test_report_commands import invoke, name_store
from tests.unit.reporting.conftest import JOB, PRICE, judge_run, manifest_of, tables_of
from tests.unit.reporting.test_screen import PHASED, bill_of


@pytest.fixture
def base(monkeypatch):
    name_store(monkeypatch)
    with mock_aws():
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
        yield StorageLocation(uri="s3://bucket/runs", region="us-east-1")


def store_study(base, text):
    """A run up to its bill, of which one training was cleared; returns what the report says it cost."""
    manifest = manifest_of(text, "run-1")
    manifest = manifest.model_copy(
        update={
            "screening_runs": plan_screening(manifest.job, manifest.run_id),
            "prices": dict.fromkeys(manifest.job.variants, PRICE),
        }
    )
    run = RunStore(base, "tiny", "run-1")
    run.write("manifest.json", manifest)
    run.write_stamp({"job": "tiny"})
    screening = None
    if manifest.job.phases:
        phase = manifest.screening()
        tables = tables_of(phase)
        bill = bill_of(phase, tables)
        cleared = replace(tables, earlier_launches=tables.launches.head(1))
        screening = screen(phase, cleared, bill)
        run.write_frame("screening_ledger", bill)
        run.write("screening.json", screening)
        manifest = manifest.confirming(screening.confirmed)
    tables = tables_of(manifest)
    tables = replace(tables, earlier_launches=tables.launches.head(1))
    tables.write(run)
    judged = judge_run(manifest, tables)
    run.write_frame("ledger", judged.ledger)
    costs = price_runs(assemble(manifest, tables).frame, tables.launches, manifest.prices)
    return study_cost_of(costs, tables.earlier_launches, screening=screening, ledger=judged.ledger).usd


def test_both_phases_are_shown_and_sum_to_the_study(base, tmp_path):
    study_usd = store_study(base, PHASED)
    result = invoke("ledger", "tiny/run-1", "--focus", tmp_path / "bill.csv")
    assert result.exit_code == 0, result.output
    assert "screen" in result.stdout
    assert "confirm" in result.stdout
    assert f"study: {number(study_usd)} USD" in result.stdout
    assert "cleared screening runs, in no row" in result.stdout
    billed = read_focus(tmp_path / "bill.csv").groupby("x_phase")["BilledCost"].sum()
    cleared_usd = study_usd - billed.sum()
    # One screening launch of two accelerators at 0.36 USD an hour for about ten seconds was cleared.
    assert cleared_usd == pytest.approx(2 * 0.36 * 10 / 3600, rel=0.06)


def test_without_phases_there_is_no_such_column(base, tmp_path):
    study_usd = store_study(base, JOB)
    result = invoke("ledger", "tiny", "--focus", tmp_path / "bill.parquet")
    assert result.exit_code == 0, result.output
    assert "phase" not in result.stdout.partition("study: ")[0]
    focus = read_focus(tmp_path / "bill.parquet")
    assert focus["x_phase"].isna().all()
    assert "earlier_take" in set(focus["x_stage"])
    assert focus["BilledCost"].sum() == pytest.approx(study_usd, abs=1e-5)
