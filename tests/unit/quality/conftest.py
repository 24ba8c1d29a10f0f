"""A job with gates, and runs of it with chosen effects."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from seedance_ops.jobs.loader import load_job_text
from seedance_ops.jobs.training_job import TrainingJob

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
