"""The run table holds what the records say, and only runs that are whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from seedance_ops.jobs.metrics import metrics_of
from seedance_ops.reporting.run_metrics import checkpoint_metrics, session_metrics, workload_metrics
from seedance_ops.reporting.run_table import assemble, columns_of
from seedance_ops.reporting.run_tables import USAGE, frame_of
from seedance_ops.training.config import QualityConfig

STEP_S = 0.5


def reasons(table):
    return {(gone.variant, gone.seed): gone.reason for gone in table.missing}


def without(frame, variant="topk", seed=2, **where):
    mask = (frame["variant"] == variant) & (frame["seed"] == seed)
    for column, value in where.items():
        mask &= frame[column] == value
    return frame[~mask]


def altered(frame, column, value, variant="topk", seed=2):
    frame = frame.copy()
    frame.loc[(frame["variant"] == variant) & (frame["seed"] == seed), column] = value
    return frame


def test_every_complete_run_is_a_row_with_the_declared_columns(manifest, tables):
    table = assemble(manifest, tables)
    assert table.missing == ()
    assert len(table.frame) == 15
    assert table.frame.dtypes.astype(str).to_dict() == columns_of(manifest.job)


def test_every_metric_of_the_registry_has_a_column_or_comes_with_the_costs(manifest):
    absent = metrics_of(manifest.job).keys() - columns_of(manifest.job).keys()
    assert all(name.startswith("usd_") for name in absent)


def test_metrics_follow_their_definitions(manifest, tables):
    row = assemble(manifest, tables).frame.set_index(["variant", "seed"]).loc[("bf16", 0)]
    assert row["bytes_on_wire"] == 6 * 2 * 500
    assert row["step_time_ms"] == pytest.approx(1e3 * STEP_S), "the slowest rank counts"
    assert row["train_elapsed_s"] == pytest.approx(6 * STEP_S)
    assert row["achieved_tflops"] == pytest.approx(12 / 3)
    assert row["samples_per_s"] == pytest.approx(24 / 3)
    assert row["utilisation_mean"] == pytest.approx(0.85, abs=0.01)
    assert row["utilisation_variance"] == pytest.approx(0.05**2, rel=0.01)
    assert np.isnan(row["gpu_utilisation_mean"])
    assert row["checkpoint_write_cv"] == pytest.approx(np.std([4000, 2000], ddof=1) / 3000)
    assert row["target_elapsed_s"] == pytest.approx(3.0)


def steps_of(tables, *rows):
    first = tables.steps.iloc[0].to_dict()
    return pd.DataFrame(
        first
        | {"step": step, "rank": rank, "compute_s": compute, "communication_wait_s": wait}
        | {"checkpoint_stall_s": stall, "step_time_s": compute + wait + stall}
        for step, rank, compute, wait, stall in rows
    )


@pytest.mark.parametrize("waited_as_compute", [0.0, 2.0, 2.5])
def test_the_critical_path_is_that_of_the_rank_which_the_others_wait_for(waited_as_compute, tables):
    """Step 1: rank 0 saves for 2 s, rank 1 waits for it. Step 2: rank 1 computes for 5 s, rank 0 waits."""
    waits = (1, 1, 3.0 + waited_as_compute, 3.0 - waited_as_compute, 0.0)
    steps = steps_of(tables, (1, 0, 3.0, 1.0, 2.0), waits, (2, 0, 3.0, 3.0, 0.0), (2, 1, 5.0, 1.0, 0.0))
    found = session_metrics(steps)
    path = {name: found[f"path_{name}_s"] for name in ("compute", "network", "storage")}
    assert path == {"compute": 8.0, "network": 2.0, "storage": 2.0}
    assert found["train_elapsed_s"] == sum(path.values())


def test_a_step_whose_parts_are_not_all_known_has_no_critical_path(tables):
    found = session_metrics(steps_of(tables, (1, 0, 3.0, 1.0, 2.0), (1, 1, np.nan, 3.0, 0.0)))
    assert np.isnan(found["path_network_s"])


def energy_of(tables, *quantities):
    """Rows of one run's ranks, and a request that is no energy."""
    rows = [("energy", quantity) for quantity in quantities] + [("requests", 5.0)]
    base = {"variant": "bf16", "seed": 0, "submission": 1, "rank": 0, "at_s": 0.0, "stage": "run"}
    made = [base | {"component": name, "tier": "-", "quantity": value, "method": "x"} for name, value in rows]
    return replace(tables, usage=frame_of(made, USAGE))


@pytest.mark.parametrize(("quantities", "kwh"), [((0.3, 0.6), 0.9), ((0.3, None), np.nan), ((), np.nan)])
def test_energy_is_summed_over_ranks_and_unknown_where_a_part_is(quantities, kwh, manifest, tables):
    frame = assemble(manifest, energy_of(tables, *quantities)).frame.set_index(["variant", "seed"])
    assert frame.loc[("bf16", 0), "energy_kwh"] == pytest.approx(kwh, nan_ok=True)
    assert frame.loc[("bf16", 0), "kwh_per_sample"] == pytest.approx(kwh / 24, nan_ok=True)
    assert np.isnan(frame.loc[("bf16", 1), "energy_kwh"])


def test_a_rank_without_flops_leaves_the_runs_flops_unknown(tables):
    steps = tables.steps[(tables.steps["variant"] == "bf16") & (tables.steps["seed"] == 0)].copy()
    steps.loc[steps.index[0], "model_flops"] = np.nan
    assert np.isnan(session_metrics(steps)["achieved_tflops"])


def test_one_write_has_no_fluctuation(tables):
    assert np.isnan(checkpoint_metrics(tables.checkpoint_writes.iloc[:1])["checkpoint_write_cv"])


@pytest.mark.parametrize(
    ("better", "target", "expected"), [("higher", 0.5, 2.0), ("higher", 0.9, np.nan), ("lower", 0.2, 1.0)]
)
def test_the_target_is_reached_by_the_first_evaluation_beyond_it(better, target, expected):
    evaluations = pd.DataFrame(
        {
            "metric": "accuracy",
            "step": [3, 1, 2],
            "value": [0.7, 0.2, 0.6],
            "train_elapsed_s": [3.0, 1.0, 2.0],
        }
    )
    quality = QualityConfig(metric="accuracy", better=better, target=target)
    found = workload_metrics(evaluations, quality, ())["target_elapsed_s"]
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("table", "change", "reason"),
    [
        ("launches", without, "it was never launched"),
        ("launches", lambda frame: altered(frame, "state", "failed"), "submission 1 failed"),
        ("launches", lambda frame: altered(frame, "state", "running"), "submission 1 running"),
        ("steps", without, "it succeeded but left no step records"),
        ("steps", lambda frame: without(frame, rank=1), "ranks 1: recorded or planned, but not both"),
        ("steps", lambda frame: without(frame, rank=1, step=4), "rank 1 has no record of step 4"),
        ("steps", lambda frame: without(frame, step=6), "it ended after step 5 of 6"),
        ("steps", lambda frame: pd.concat([frame, frame.iloc[:1]]), "has several records of step 1"),
    ],
)
def test_a_run_that_is_not_whole_is_missing_with_its_reason(table, change, reason, manifest, tables):
    assembled = assemble(manifest, replace(tables, **{table: change(getattr(tables, table))}))
    assert len(assembled.frame) == 14
    (found,) = reasons(assembled).values()
    assert reason in found


def test_only_the_newest_submission_decides(manifest, tables):
    launches = tables.launches
    retried = launches[(launches["variant"] == "topk") & (launches["seed"] == 2)]
    failed = retried.assign(state="failed", run_s=100.0)
    retried = retried.assign(submission=2)
    others = without(launches)
    table = assemble(manifest, replace(tables, launches=pd.concat([others, retried, failed])))
    row = table.frame.set_index(["variant", "seed"]).loc[("topk", 2)]
    assert row["submissions"] == 2
    assert row["run_s"] > 100.0


def test_a_run_that_was_submitted_several_times_says_how_they_ended(manifest, tables):
    launches = tables.launches
    first = launches[(launches["variant"] == "topk") & (launches["seed"] == 2)].assign(state="failed")
    of_run = [first, first.assign(submission=2), first.assign(submission=3, state="preempted")]
    newest = first.assign(submission=4, reason="out of memory")
    table = assemble(manifest, replace(tables, launches=pd.concat([without(launches), *of_run, newest])))
    (reason,) = reasons(table).values()
    assert reason == "submission 4 failed: out of memory (4 submissions: 3 failed, 1 preempted)"


def test_no_records_at_all_give_an_empty_table_with_its_columns(manifest, tables):
    nothing = replace(
        tables,
        steps=tables.steps.iloc[:0],
        evaluations=tables.evaluations.iloc[:0],
        checkpoint_writes=tables.checkpoint_writes.iloc[:0],
        launches=tables.launches.iloc[:0],
    )
    table = assemble(manifest, nothing)
    assert list(table.frame.columns) == list(columns_of(manifest.job))
    assert len(table.missing) == 15


def test_a_diverged_run_has_no_quality(manifest, tables):
    evaluations = tables.evaluations.copy()
    last = (evaluations["variant"] == "topk") & (evaluations["seed"] == 2) & (evaluations["step"] == 6)
    evaluations.loc[last, "value"] = np.nan
    table = assemble(manifest, replace(tables, evaluations=evaluations))
    assert np.isnan(table.frame.set_index(["variant", "seed"]).loc[("topk", 2), "val_loss"])


def test_a_users_metric_is_aggregated_as_declared(job_text, make_manifest, make_tables):
    text = job_text.replace("  quality:", "  metrics: [{name: tokens_per_s, aggregation: max}]\n  quality:")
    manifest = make_manifest(text)
    tables = make_tables(manifest)
    reported = tables.evaluations.assign(metric="tokens_per_s", value=tables.evaluations["step"] * 10.0)
    table = assemble(manifest, replace(tables, evaluations=pd.concat([tables.evaluations, reported])))
    assert set(table.frame["tokens_per_s"]) == {60.0}
