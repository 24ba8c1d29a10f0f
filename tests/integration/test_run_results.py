"""A run's tables, from a real object store to the verdict in a terminal."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from seedance_ops.cli.result import print_result
from seedance_ops.cost.catalogue import Price
from seedance_ops.cost.run_cost import COSTS, price_runs, with_costs
from seedance_ops.jobs.loader import load_job_text
from seedance_ops.jobs.manifest import RunManifest, plan_runs
from seedance_ops.jobs.profiles import LocalProfile
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.launchers.base import LaunchState
from seedance_ops.launchers.record import LaunchRecord
from seedance_ops.quality.judge import judge
from seedance_ops.quality.statistics import summarise
from seedance_ops.reporting.collecting import read_run_tables
from seedance_ops.reporting.report import build_report, failed_report, render_html
from seedance_ops.reporting.run_table import assemble
from seedance_ops.reporting.run_tables import RunTables
from seedance_ops.reporting.study_cost import study_cost_of
from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import ObjectMissing
from seedance_ops.training.metrics.tables import STEPS

SESSION_JOB = """\
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {name: results, owner: ml-platform}
workload:
  entrypoint: examples/char_gpt.py
  batch: {per_rank: 2}
  stop: {steps: 2}
launcher: local
variants: {baseline: {}, bf16: {gradient_compression: {algorithm: bf16}}}
repeats: {seeds: 1}
"""
PLAIN_JOB = """\
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {name: results, owner: ml-platform}
workload:
  command: [python, anything.py]
  runtime: none
  launch: none
  quality: {metric: error, better: lower}
launcher: local
variants: {baseline: {}, other: {set: {workload.args.size: 2}}}
repeats: {seeds: 3}
gates: [{metric: error, compared_to: baseline, equivalent_within: {absolute: 0.05}}]
"""
RUN_ID = "manual__2026-01-02T03:04:05+00:00"


def planned(text, location):
    job = load_job_text(text, Path("job.yaml"), project=None).job
    manifest = RunManifest(
        job=job,
        job_hash="0" * 64,
        source="job.yaml",
        run_id=RUN_ID,
        runs=plan_runs(job, RUN_ID),
        profiles={name: LocalProfile(kind="local", price="p") for name in job.variants},
        planned_at_s=0.0,
    )
    run = RunStore(location, job.metadata.name, RUN_ID)
    run.write("manifest.json", manifest)
    run.write_stamp({"cluster_id": "cluster-0"})
    return run, manifest


def leave_record(run, variant, seed, *, take=1, submission=1, state=LaunchState.SUCCEEDED):
    record = LaunchRecord(
        name="n", launcher="local", job="results", run_id=RUN_ID, variant=variant, seed=seed, take=take,
        submission=submission, state=state, order=0, num_nodes=1, processes_per_node=1, accelerator="cpu",
        submitted_at_s=0.0, started_at_s=1.0, ended_at_s=11.0 + seed, mean_cpu_utilisation=0.5,
    )  # fmt: skip
    store = ObjectStore(run.training(variant, seed, take))
    store.put(f"launches/submission-{submission:03d}.json", record.model_dump_json().encode())
    return store


def leave_steps(store, variant, seed, submission, steps):
    rows = [
        {
            "job": "results", "run_id": RUN_ID, "variant": variant, "seed": seed, "submission": submission,
            "rank": 0, "world_size": 1, "step": step, "started_at_s": float(step), "step_time_s": 0.5,
            "compute_s": 0.5, "communication_wait_s": 0.0, "all_reduce_s": 0.0, "checkpoint_stall_s": 0.0,
            "bytes_on_wire": 10 * submission, "bytes_dense_fp32": 10, "samples": 2, "cpu_utilisation": 0.5,
            "memory_bytes": 1, "train_loss": 1.0,
        }
        for step in steps
    ]  # fmt: skip
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, STEPS), buffer)
    store.put(f"steps/submission-{submission:03d}/rank-0000/part-00000.parquet", buffer.getvalue())


def test_a_resumed_run_counts_each_step_once_and_pays_for_both_submissions(location):
    run, manifest = planned(SESSION_JOB, location)
    old = leave_record(run, "baseline", 0, take=1)
    leave_steps(old, "baseline", 0, 1, [1, 2])
    leave_record(run, "baseline", 0, take=2, submission=2, state=LaunchState.FAILED)
    store = leave_record(run, "baseline", 0, take=2, submission=3)
    leave_steps(store, "baseline", 0, 2, [1])
    leave_steps(store, "baseline", 0, 3, [1, 2])
    leave_record(run, "bf16", 0, state=LaunchState.FAILED)
    tables = read_run_tables(run, manifest)
    table = assemble(manifest, tables)
    (row,) = table.frame.to_dict("records")
    assert (row["take"], row["submissions"], row["bytes_on_wire"], row["run_s"]) == (2, 2, 60.0, 20.0)
    assert [(gone.variant, gone.reason) for gone in table.missing] == [("bf16", "submission 1 failed")]
    price = Price.model_validate(
        {
            "key": "p",
            "usd_per_accelerator_hour": 360.0,
            "source": "test",
            "date": "2026-01-01",
            "basis": "list",
        }
    )
    costs = price_runs(table.frame, tables.launches, {"baseline": price, "bf16": price})
    assert costs["usd_per_run"].sum() == pytest.approx(0.1 * 30.0)
    # 360 USD/h is 0.1 USD/s; 10 s each of two takes' three submissions of the baseline, and of bf16.
    study = study_cost_of(costs, tables.earlier_launches)
    assert (study.usd, study.queue_s) == (pytest.approx(0.1 * 40.0), 4.0)
    assert study.accelerator_hours == pytest.approx(40.0 / 3600.0)


def test_a_launch_that_was_cancelled_is_paid_for(location):
    run, manifest = planned(SESSION_JOB, location)
    leave_record(run, "baseline", 0, state=LaunchState.CANCELLED)
    leave_record(run, "baseline", 0, submission=2)
    assert read_run_tables(run, manifest).launches["run_s"].tolist() == [10.0, 10.0]


def test_tables_survive_the_store_also_when_they_are_empty(location):
    run, manifest = planned(SESSION_JOB, location)
    tables = read_run_tables(run, manifest)
    tables.write(run)
    back = RunTables.read(run)
    for name in ("steps", "evaluations", "checkpoint_writes", "launches", "earlier_launches"):
        assert list(getattr(back, name).columns) == list(getattr(tables, name).columns)
        assert getattr(back, name).empty
    table = assemble(manifest, back)
    assert len(table.missing) == 2
    run.write_frame("runs", table.frame)
    costs = price_runs(run.frame("runs"), back.launches, {})
    run.write_frame("costs", costs)
    pd.testing.assert_frame_equal(run.frame("costs").astype(COSTS), costs)
    statistics = summarise(manifest.job, with_costs(run.frame("runs"), run.frame("costs")))
    gates = judge(manifest.job, with_costs(run.frame("runs"), run.frame("costs")), statistics, table.missing)
    assert not gates.accepted
    report = build_report(manifest, run.stamp(), back, table, run.frame("costs"), statistics, gates)
    assert "was never launched" in render_html(report)


def leave_plain_run(run, error_of):
    for variant in ("baseline", "other"):
        for seed in range(3):
            store = leave_record(run, variant, seed)
            store.put("evaluations/submission-001/metrics.jsonl", error_of(variant, seed).encode())


def finish(run, manifest):
    tables = read_run_tables(run, manifest)
    table = assemble(manifest, tables)
    price = Price.model_validate(
        {"key": "p", "usd_per_accelerator_hour": 1.0, "source": "test", "date": "2026-01-01", "basis": "list"}
    )
    costs = price_runs(table.frame, tables.launches, dict.fromkeys(manifest.job.variants, price))
    runs = with_costs(table.frame, costs)
    statistics = summarise(manifest.job, runs)
    gates = judge(manifest.job, runs, statistics, table.missing)
    report = build_report(manifest, run.stamp(), tables, table, costs, statistics, gates)
    run.write("report.json", report)
    run.write_text("report.html", render_html(report))
    return report


def printed(tmp_path, manifest, run):
    output = io.StringIO()
    console = Console(file=output, width=160)
    page, document = (text_of(run, name) for name in ("report.html", "report.json"))
    print_result(console, tmp_path, manifest.job.metadata.name, RUN_ID, page=page, document=document)
    return output.getvalue()


def text_of(run, name):
    try:
        return run.text(name)
    except ObjectMissing:
        return None


def test_an_unchanged_program_is_judged_by_what_it_reported(location, tmp_path):
    run, manifest = planned(PLAIN_JOB, location)
    leave_plain_run(
        run,
        lambda variant, seed: json.dumps(
            {"metric": "error", "value": 0.1 + 0.001 * seed**2 * (variant == "other")}
        ),
    )
    assert finish(run, manifest).accepted
    text = printed(tmp_path, manifest, run)
    assert "other accepted" in text
    path = re.search(r"Report: (.*report\.html)", text)[1]
    assert path.startswith(str(tmp_path / "reports" / "results"))
    assert "other accepted" in Path(path).read_text(encoding="utf-8")


def test_what_a_program_reported_wrongly_is_named_and_never_passes(location):
    run, manifest = planned(PLAIN_JOB, location)
    good = '{"metric": "error", "value": 0.1}\n'
    leave_plain_run(
        run, lambda variant, seed: good + ('garbage\n{"metric": "error", "value": NaN}' if seed == 1 else "")
    )
    report = finish(run, manifest)
    assert [verdict.outcome for verdict in report.verdicts] == ["not_judgeable"]
    assert any(problem.endswith("metrics.jsonl line 2: is not JSON") for problem in report.problems)
    assert any(problem.endswith("line 3: error is nan") for problem in report.problems)


def test_a_run_without_a_report_says_so(location, tmp_path):
    run, manifest = planned(PLAIN_JOB, location)
    assert printed(tmp_path, manifest, run).startswith("No report:")


def test_a_report_of_a_failure_is_printed_too(location, tmp_path):
    run, manifest = planned(PLAIN_JOB, location)
    report = failed_report(manifest, run.stamp(), ["the table costs is missing"])
    run.write("report.json", report)
    run.write_text("report.html", render_html(report))
    assert "the table costs is missing" in printed(tmp_path, manifest, run)
