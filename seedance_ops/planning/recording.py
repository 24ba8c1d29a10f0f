"""From a judged run to its record in the job's history."""

from __future__ import annotations

import numpy as np
import pandas as pd

from seedance_ops.jobs.identity import settings_hash, treatment_hash
from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.metrics import metrics_of
from seedance_ops.planning.history import HistoryRecord, Observation
from seedance_ops.quality.results import GateResults


def record_of(
    manifest: RunManifest,
    stamp: dict[str, str],
    results: GateResults,
    runs: pd.DataFrame,
) -> HistoryRecord:
    """Every metric of every run (``runs`` has its costs), and the circumstances in which it was measured."""
    job = manifest.job
    ended = runs["ended_at_s"].max()
    return HistoryRecord(
        job=job.metadata.name,
        job_hash=manifest.job_hash,
        run_id=manifest.run_id,
        ended_at_s=float(ended) if pd.notna(ended) else manifest.planned_at_s,
        accepted=tuple(verdict.variant for verdict in results.verdicts if verdict.is_accepted),
        run_accepted=results.accepted,
        baseline=job.baseline,
        quality=job.workload.quality.metric if job.workload.quality else None,
        observations=observations_of(runs, ["samples", *metrics_of(job)]),
        settings={
            variant: settings_hash(job, variant, manifest.profiles[variant]) for variant in job.variants
        },
        ended={
            str(variant): float(of_variant["ended_at_s"].max())
            for variant, of_variant in runs.dropna(subset=["ended_at_s"]).groupby("variant", sort=False)
        },
        treatments={variant: treatment_hash(manifest, variant) for variant in job.variants},
        seeds={
            str(variant): tuple(sorted(int(seed) for seed in of_variant["seed"]))
            for variant, of_variant in runs.groupby("variant", sort=False)
        },
        reused=tuple(manifest.reused),
        usd_per_accelerator_hour={
            name: price.usd_per_accelerator_hour for name, price in manifest.prices.items()
        },
        stamp=stamp,
    )


def observations_of(runs: pd.DataFrame, metrics: list[str]) -> tuple[Observation, ...]:
    """The run table with its costs as observations: finite values only, in the order of the seeds."""
    rows = []
    for variant, of_variant in runs.sort_values("seed").groupby("variant", sort=False):
        for metric in metrics:
            if metric not in of_variant:
                continue
            values = of_variant[metric].to_numpy(dtype=np.float64, na_value=np.nan)
            finite = values[np.isfinite(values)]
            if len(finite):
                rows.append(
                    Observation(variant=str(variant), metric=metric, values=tuple(map(float, finite)))
                )
    return tuple(rows)
