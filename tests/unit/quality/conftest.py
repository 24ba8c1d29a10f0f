"""A job with gates, and runs of it with chosen effects."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from seedance_ops.cost.catalogue import Price
from seedance_ops.jobs.loader import load_job_text
from seedance_ops.jobs.manifest import RunManifest, plan_runs
from seedance_ops.jobs.profiles import LocalProfile
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.data.tables import DataTables

# Last on the path: the folder holds a statistics.py of its own.
sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

JOB = """\
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {name: judged, owner: ml-platform}
workload:
  entrypoint: examples/char_gpt.py
  batch: {per_rank: 2}
  stop: {steps: 6}
  quality: {metric: val_loss, better: lower}
launcher: local
variants:
  baseline: {}
  topk: {gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}}
repeats: {seeds: SEEDS}
gates:
GATES
"""


@pytest.fixture
def job() -> Callable[..., TrainingJob]:
    def load(*gates: str, seeds: int = 5, accept: str = "any") -> TrainingJob:
        text = JOB.replace("SEEDS", str(seeds)).replace("GATES", "\n".join(f"  - {gate}" for gate in gates))
        text = text if gates else text.replace("gates:\n", "")
        return load_job_text(f"{text}accept: {accept}\n", Path("job.yaml"), project=None).job

    return load


@pytest.fixture
def runs() -> Callable[..., pd.DataFrame]:
    def make(*, loss: float = 0.0, cost: float = 0.8, wire: float = 0.06, seeds: int = 5) -> pd.DataFrame:
        generator = np.random.default_rng(1)
        rows = []
        for seed in range(seeds):
            shared = generator.normal(0.0, 0.05)
            for variant, sign in (("baseline", 0.0), ("topk", 1.0)):
                rows.append(
                    {
                        "variant": variant,
                        "seed": seed,
                        "val_loss": 3.0 + shared + sign * loss + generator.normal(0.0, 0.005),
                        "usd_per_run": (cost if sign else 1.0) * (1 + generator.normal(0.0, 0.01)),
                        "bytes_on_wire": 1000.0 * (wire if sign else 1.0),
                    }
                )
        return pd.DataFrame(rows)

    return make


SEEDS, RANKS, STEPS = 3, 2, 3
DENSE_BYTES, TOPK_BYTES = 8000, 160
"""Two ranks, 2,000 elements: a ring sends 2 · ½ · 4 · 2000 bytes, 1 % of them 20 · 3, and padding."""
PRICE = Price.model_validate(
    {
        "key": "made-up",
        "usd_per_accelerator_hour": 0.05,
        "source": "a made-up list",
        "date": "2026-01-02",
        "basis": "list",
    }
)


@pytest.fixture
def manifest(job: Callable[..., TrainingJob]) -> Callable[..., RunManifest]:
    """Of the job with these gates; ``runtime``: ``none`` for a program without step records."""

    def make(*gates: str, runtime: str = "session") -> RunManifest:
        planned = job(*gates, seeds=SEEDS)
        workload = planned.workload.model_copy(update={"runtime": runtime})
        resources = planned.resources.model_copy(update={"accelerators": f"cpu:{RANKS}"})
        planned = planned.model_copy(update={"workload": workload, "resources": resources})
        return RunManifest(
            job=planned,
            job_hash="0" * 64,
            source="include/jobs/judged.yaml",
            run_id="run-1",
            runs=plan_runs(planned, "run-1"),
            profiles={name: LocalProfile(kind="local", price="made-up") for name in planned.variants},
            prices=dict.fromkeys(planned.variants, PRICE),
            planned_at_s=0.0,
        )

    return make


@pytest.fixture
def tables(runs: Callable[..., pd.DataFrame]) -> DataTables:
    """What a run of ``manifest`` leaves when nothing is wrong with it."""
    steps, evaluations, launches = [], [], []
    for variant, wire in (("baseline", DENSE_BYTES), ("topk", TOPK_BYTES)):
        for seed in range(SEEDS):
            of_run = {"variant": variant, "seed": seed, "submission": 1}
            launches.append(of_run | {"state": "succeeded", "mean_cpu_utilisation": 0.5})
            evaluations.append(of_run | {"step": STEPS, "metric": "val_loss", "value": 3.0})
            steps += [
                of_run
                | {"rank": rank, "world_size": RANKS, "step": step, "started_at_s": 1000.0 + step}
                | {"step_time_s": 0.9, "compute_s": 0.7, "communication_wait_s": 0.1, "all_reduce_s": 0.2}
                | {"checkpoint_stall_s": 0.1, "bytes_on_wire": wire, "bytes_dense_fp32": DENSE_BYTES}
                | {"samples": 2, "tokens": float("nan"), "model_flops": 1e12, "cpu_utilisation": 0.8}
                | {"gpu_utilisation": float("nan"), "memory_bytes": 1_000_000, "train_loss": 5.0 - 0.3 * step}
                for rank in range(RANKS)
                for step in range(1, STEPS + 1)
            ]
    return DataTables(
        runs=runs(seeds=SEEDS),
        launches=pd.DataFrame(launches),
        steps=pd.DataFrame(steps),
        evaluations=pd.DataFrame(evaluations),
    )
