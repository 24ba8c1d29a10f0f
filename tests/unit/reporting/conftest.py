"""A small run as its trainings would have left it: made up, with known totals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from seedance_ops.cost.catalogue import Price
from seedance_ops.cost.ledger import ledger_of
from seedance_ops.cost.run_cost import price_runs, with_costs
from seedance_ops.jobs.loader import load_job_text
from seedance_ops.jobs.manifest import RunManifest, plan_runs
from seedance_ops.jobs.profiles import LocalProfile
from seedance_ops.quality.judge import judge
from seedance_ops.quality.results import GateResults
from seedance_ops.quality.statistics import Statistics, summarise
from seedance_ops.reporting.run_table import RunTable, assemble
from seedance_ops.reporting.run_tables import LAUNCHES, RunTables, frame_of

JOB = """\
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {name: tiny, owner: ml-platform, description: Made up}
workload:
  entrypoint: examples/char_gpt.py
  batch: {per_rank: 2}
  stop: {steps: 6}
  quality: {metric: val_loss, better: lower, target: 3.0}
launcher: local
resources: {accelerators: "cpu:2"}
variants:
  baseline: {}
  bf16: {gradient_compression: {algorithm: bf16}}
  topk: {gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}}
repeats: {seeds: 5}
gates:
  - {metric: bytes_on_wire, compared_to: baseline, change_at_most: {relative: -0.45}}
  - {metric: val_loss, compared_to: baseline, equivalent_within: {absolute: 0.05}}
  - {metric: usd_per_run, compared_to: baseline, change_at_most: {relative: 0.0}, severity: warning}
"""
BYTES = {"baseline": 1000, "bf16": 500, "topk": 60}
FINAL_LOSS = {"baseline": 2.9, "bf16": 2.9, "topk": 3.3}
STEPS, RANKS, STEP_S, RUN_S = 6, 2, 0.5, 10.0
PRICE = Price.model_validate(
    {
        "key": "local-cpu",
        "usd_per_accelerator_hour": 0.36,
        "source": "a made-up list",
        "date": "2026-01-02",
        "basis": "list",
    }
)


@dataclass(frozen=True)
class Judged:
    """A run after every stage."""

    manifest: RunManifest
    tables: RunTables
    table: RunTable
    costs: pd.DataFrame
    ledger: pd.DataFrame
    statistics: Statistics
    gates: GateResults


def manifest_of(text: str = JOB, run_id: str = "manual__2026-01-02") -> RunManifest:
    job = load_job_text(text, Path("tiny.yaml"), project=None).job
    return RunManifest(
        job=job,
        job_hash="0" * 64,
        source="include/jobs/tiny.yaml",
        run_id=run_id,
        runs=plan_runs(job, run_id),
        profiles={name: LocalProfile(kind="local", price="local-cpu") for name in job.variants},
        planned_at_s=0.0,
    )


def tables_of(manifest: RunManifest) -> RunTables:
    generator = np.random.default_rng(7)
    steps, evaluations, writes, launches = [], [], [], []
    for planned in manifest.runs:
        run = {"variant": planned.variant, "seed": planned.seed, "submission": 1}
        shared = 0.02 * np.sin(planned.seed)  # what runs of one seed have in common
        start = 1000.0 + 20.0 * planned.order
        for step in range(1, STEPS + 1):
            for rank in range(RANKS):
                noise = float(generator.uniform(0.0, 0.05))
                steps.append(
                    run
                    | {
                        "rank": rank,
                        "world_size": RANKS,
                        "step": step,
                        "started_at_s": start + step,
                        "step_time_s": STEP_S - noise * rank,
                        "compute_s": STEP_S - 0.1 - noise * (1 + rank),
                        "communication_wait_s": 0.1 + noise,
                        "all_reduce_s": 0.2 + noise,
                        "checkpoint_stall_s": 0.0,
                        "bytes_on_wire": BYTES[planned.variant],
                        "bytes_dense_fp32": 1000,
                        "samples": 2,
                        "tokens": None,
                        "model_flops": 1e12,
                        "flops_method": "counted",
                        "cpu_utilisation": 0.8 + 0.1 * rank,
                        "gpu_utilisation": None,
                        "memory_bytes": 1_000_000 + rank,
                        "train_loss": 5.0 - 0.3 * step,
                    }
                )
        for step, loss in ((3, 4.0), (6, FINAL_LOSS[planned.variant])):
            evaluations.append(
                run
                | {
                    "step": step,
                    "samples_seen": 4 * step,
                    "at_s": start + step,
                    "train_elapsed_s": STEP_S * step,
                    "metric": "val_loss",
                    "value": loss + shared + 0.003 * float(generator.normal()),
                }
            )
            for tier, write_s in (("local", 0.1), ("object", 0.2 if step == 3 else 0.4)):
                writes.append(
                    run | {"step": step, "tier": tier, "bytes": 800, "write_s": write_s, "stall_s": 0.0}
                )
        launches.append(
            run
            | {
                "take": 1,
                "order": planned.order,
                "state": "succeeded",
                "reason": None,
                "launcher": "local",
                "accelerator": "cpu",
                "num_nodes": 1,
                "accelerators_per_node": 2,
                "submitted_at_s": start - 1.0,
                "started_at_s": start,
                "ended_at_s": start + RUN_S,
                "queue_s": 1.0,
                "run_s": RUN_S + float(generator.uniform(-0.5, 0.5)),
                "mean_cpu_utilisation": 0.7,
                "peak_memory_bytes": None,
            }
        )
    return RunTables(
        steps=pd.DataFrame(steps).astype({"tokens": "float64", "gpu_utilisation": "float64"}),
        evaluations=pd.DataFrame(evaluations),
        checkpoint_writes=pd.DataFrame(writes),
        launches=frame_of(launches, LAUNCHES),
    )


def judge_run(manifest: RunManifest, tables: RunTables) -> Judged:
    table = assemble(manifest, tables)
    prices = manifest.prices or dict.fromkeys(manifest.job.variants, PRICE)
    costs = price_runs(table.frame, tables.launches, prices)
    ledger = ledger_of(table.frame, tables.launches, tables.checkpoint_writes, prices)
    runs = with_costs(table.frame, costs)
    statistics = summarise(manifest.job, runs)
    gates = judge(manifest.job, runs, statistics, table.missing)
    return Judged(manifest, tables, table, costs, ledger, statistics, gates)


@pytest.fixture(scope="session")
def job_text() -> str:
    return JOB


@pytest.fixture(scope="session")
def make_manifest() -> Callable[..., RunManifest]:
    return manifest_of


@pytest.fixture(scope="session")
def make_tables() -> Callable[[RunManifest], RunTables]:
    return tables_of


@pytest.fixture
def manifest() -> RunManifest:
    return manifest_of()


@pytest.fixture
def tables(manifest: RunManifest) -> RunTables:
    return tables_of(manifest)


@pytest.fixture(scope="session")
def judge_tables() -> Callable[[RunManifest, RunTables], Judged]:
    return judge_run


@pytest.fixture(scope="session")
def judged() -> Judged:
    manifest = manifest_of()
    return judge_run(manifest, tables_of(manifest))
