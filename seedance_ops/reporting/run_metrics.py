"""From one training's records to its metrics: the formulas that the registry puts in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd

from seedance_ops.cost.accelerator_time import PATH_COLUMNS
from seedance_ops.cost.peaks import PeakUsed, mfu
from seedance_ops.jobs.workload import UserMetric
from seedance_ops.training.config import QualityConfig

Metrics = dict[str, float]

_AGGREGATIONS: dict[str, Callable[[npt.NDArray[np.float64]], float]] = {
    "last": lambda values: float(values[-1]),
    "mean": lambda values: float(values.mean()),
    "min": lambda values: float(values.min()),
    "max": lambda values: float(values.max()),
    "sum": lambda values: float(values.sum()),
}
_BOTTLENECK_TIERS = ("object", "local")


def session_metrics(steps: pd.DataFrame) -> Metrics:
    """What the step records of all ranks say; NaN where a rank did not measure something."""
    of_step = steps.groupby("step", sort=True)
    of_rank = steps.groupby("rank", sort=True)
    step_time_s = of_step["step_time_s"].max()
    elapsed_s = float(step_time_s.sum())
    samples = float(steps["samples"].sum())
    model_flops = float(steps["model_flops"].sum(skipna=False))
    return {
        "step_time_ms": 1e3 * float(step_time_s.median()),
        "samples": samples,
        "samples_per_s": samples / elapsed_s,
        "communication_wait_s": float(of_rank["communication_wait_s"].sum().mean()),
        "communication_wait_share": float(steps["communication_wait_s"].sum() / steps["step_time_s"].sum()),
        "all_reduce_ms": 1e3 * float(of_step["all_reduce_s"].mean().median()),
        "bytes_on_wire": float(steps["bytes_on_wire"].sum()),
        "checkpoint_stall_s": float(of_rank["checkpoint_stall_s"].sum().max()),
        "peak_memory_bytes": float(steps["memory_bytes"].max()),
        "model_flops": model_flops,
        "achieved_tflops": model_flops / elapsed_s / 1e12,
        "train_elapsed_s": elapsed_s,
        **_critical_path(steps),
        **_utilisation(steps),
    }


def checkpoint_metrics(writes: pd.DataFrame) -> Metrics:
    """Fluctuation of the write throughput (R1.2), within the slowest tier: tiers differ by design."""
    tier = next((name for name in _BOTTLENECK_TIERS if (writes["tier"] == name).any()), None)
    chosen = writes[(writes["tier"] == tier) & (writes["write_s"] > 0.0)]
    if len(chosen) < 2:
        return {"checkpoint_write_cv": math.nan}
    throughput = chosen["bytes"] / chosen["write_s"]
    return {"checkpoint_write_cv": float(throughput.std(ddof=1) / throughput.mean())}


def peak_metrics(metrics: Metrics, accelerators: int, peak: PeakUsed | None) -> Metrics:
    """Utilisation of a peak that is known, by a GPU that was seen at work; else NaN."""
    if peak is None or math.isnan(metrics["gpu_utilisation_mean"]):
        return {"mfu": math.nan}
    return {"mfu": mfu(metrics["achieved_tflops"], accelerators, peak)}


def energy_metrics(usage: pd.DataFrame, samples: float, launches: pd.DataFrame) -> Metrics:
    """Energy of all ranks and submissions; NaN where none was measured, or a part is unknown.

    A submission that was killed took what it had not yet written down with it.
    """
    measured = usage.loc[usage["component"] == "energy", "quantity"]
    whole = len(measured) > 0 and bool((launches["state"] == "succeeded").all())
    kwh = float(measured.sum(skipna=False)) if whole else math.nan
    return {"energy_kwh": kwh, "kwh_per_sample": kwh / samples if samples > 0 else math.nan}


def launch_metrics(launches: pd.DataFrame) -> Metrics:
    """What the launcher itself saw; it is all there is of a program with ``runtime: none``."""
    newest = launches.iloc[-1]
    return {
        "run_s": float(launches["run_s"].sum()),
        "cpu_utilisation_mean": float(newest["mean_cpu_utilisation"]),
        "utilisation_mean": float(newest["mean_cpu_utilisation"]),
        "peak_memory_bytes": float(launches["peak_memory_bytes"].max()),
    }


def workload_metrics(
    evaluations: pd.DataFrame, quality: QualityConfig | None, declared: Iterable[UserMetric]
) -> Metrics:
    """What the workload reported, each metric aggregated as its declaration says; NaN where it did not."""
    aggregations = {metric.name: metric.aggregation for metric in declared}
    if quality is not None:
        aggregations.setdefault(quality.metric, "last")
    found: Metrics = {}
    for name, aggregation in aggregations.items():
        values = evaluations.loc[evaluations["metric"] == name, "value"].to_numpy(dtype=np.float64)
        found[name] = _AGGREGATIONS[aggregation](values) if len(values) else math.nan
    return found | {"target_elapsed_s": _time_to_target(evaluations, quality)}


def _time_to_target(evaluations: pd.DataFrame, quality: QualityConfig | None) -> float:
    """Training time until the first evaluation that reaches the target; NaN where none does."""
    if quality is None or quality.target is None:
        return math.nan
    rows = evaluations[evaluations["metric"] == quality.metric].sort_values("step", kind="stable")
    reached = (
        rows["value"] <= quality.target if quality.better == "lower" else rows["value"] >= quality.target
    )
    return float(rows.loc[reached, "train_elapsed_s"].iloc[0]) if reached.any() else math.nan


def _critical_path(steps: pd.DataFrame) -> Metrics:
    """Where the time of all ranks went (R2.1): sums of the rank in each step that the others waited for.

    That is the one which stood still longest for a checkpoint (rank 0 commits it alone), else the one which
    computed longest. What the others spent waiting for it is recorded as communication, or between two
    buckets as compute; a mean over ranks would call it that.
    """
    resources = ("compute_s", "communication_wait_s", "checkpoint_stall_s")
    seconds = steps.loc[:, ["step", *resources]]
    if seconds.isna().to_numpy().any():
        return dict.fromkeys(PATH_COLUMNS, math.nan)
    by_rank = seconds.sort_values(["step", "checkpoint_stall_s", "compute_s"])
    path = by_rank.drop_duplicates("step", keep="last")[list(resources)].sum()
    return {column: float(path[resource]) for column, resource in zip(PATH_COLUMNS, resources, strict=True)}


def _utilisation(steps: pd.DataFrame) -> Metrics:
    weights = steps["step_time_s"].to_numpy(dtype=np.float64)
    gpu, gpu_variance = _weighted(steps["gpu_utilisation"], weights)
    cpu, cpu_variance = _weighted(steps["cpu_utilisation"], weights)
    has_gpu = bool(steps["gpu_utilisation"].notna().any())
    return {
        "gpu_utilisation_mean": gpu,
        "cpu_utilisation_mean": cpu,
        "utilisation_mean": gpu if has_gpu else cpu,
        "utilisation_variance": gpu_variance if has_gpu else cpu_variance,
    }


def _weighted(values: pd.Series[float], weights: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Mean and variance over ranks and time."""
    shares = values.to_numpy(dtype=np.float64, na_value=np.nan)
    mean = float(np.average(shares, weights=weights))
    return mean, float(np.average((shares - mean) ** 2, weights=weights))
