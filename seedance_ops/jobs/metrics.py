"""The metric registry: one definition of each name, which gates, tables and the report read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.workload import UserMetric
from seedance_ops.training.config import QualityConfig


@dataclass(frozen=True)
class MetricDefinition:
    """What a metric means, and how a run's records become one number."""

    name: str
    unit: str
    better: Literal["lower", "higher", "none"]
    nature: Literal["counted", "measured"]
    """``counted``: exact, the same in every repeat of equal work; ``measured``: noisy."""
    pairs_by_seed: bool
    """Whether equal seeds of two variants share randomness that is worth pairing on."""
    aggregation: str
    """Over ranks, steps and repeats, in words."""
    source: Literal["launcher", "session", "workload"] = "session"
    """Who measures it: a job with ``runtime: none`` has no ``session`` metrics."""


def _measured(
    name: str,
    unit: str,
    better: Literal["lower", "higher", "none"],
    aggregation: str,
    source: Literal["launcher", "session"] = "session",
) -> MetricDefinition:
    return MetricDefinition(
        name, unit, better, "measured", pairs_by_seed=False, aggregation=aggregation, source=source
    )


_BUILT_IN = (
    _measured("usd_per_run", "USD", "lower", "price × billed time, over all submissions", "launcher"),
    _measured(
        "usd_to_target_quality", "USD", "lower", "price × training time until quality.target is reached"
    ),
    _measured("usd_per_tflops_hour", "USD/TFLOPS·h", "lower", "usd_per_run ÷ (model FLOPs as TFLOPS·h)"),
    _measured(
        "usd_per_tflops_hour_training",
        "USD/TFLOPS·h",
        "lower",
        "price × summed step time ÷ (model FLOPs as TFLOPS·h)",
    ),
    _measured("usd_per_1k_samples", "USD", "lower", "1000 × usd_per_run ÷ samples of all ranks"),
    _measured("step_time_ms", "ms", "lower", "slowest rank of each step; median over steps"),
    _measured("samples_per_s", "1/s", "higher", "samples of all ranks ÷ summed step time"),
    _measured("communication_wait_s", "s", "lower", "exposed wait; mean over ranks, sum over steps"),
    _measured("communication_wait_share", "1", "lower", "exposed wait ÷ step time, over all ranks and steps"),
    _measured(
        "all_reduce_ms", "ms", "lower", "sum over a step's reductions; mean over ranks, median over steps"
    ),
    MetricDefinition(
        "bytes_on_wire", "B", "lower", "counted", pairs_by_seed=False, aggregation="sum over ranks and steps"
    ),
    _measured("checkpoint_write_cv", "1", "lower", "standard deviation ÷ mean of the writes' throughput"),
    _measured("checkpoint_stall_s", "s", "lower", "time training stood still; slowest rank, sum over steps"),
    _measured("gpu_utilisation_mean", "1", "higher", "mean over ranks and time; none without a GPU"),
    _measured("cpu_utilisation_mean", "1", "higher", "mean over ranks and time", "launcher"),
    _measured(
        "utilisation_mean", "1", "higher", "of the GPU where there is one, else of the CPU", "launcher"
    ),
    _measured(
        "utilisation_variance", "1", "lower", "variance over ranks and time, of the GPU where there is one"
    ),
    _measured("peak_memory_bytes", "B", "lower", "maximum over ranks and steps", "launcher"),
    _measured("achieved_tflops", "TFLOPS", "higher", "model FLOPs of all ranks ÷ summed step time"),
    _measured("mfu", "1", "higher", "achieved_tflops ÷ (accelerators × the peak that the report names)"),
    _measured("train_elapsed_s", "s", "lower", "training time over all submissions that count"),
    _measured(
        "run_s", "s", "lower", "the launcher's run time, start to end, over all submissions", "launcher"
    ),
    _measured(
        "energy_kwh",
        "kWh",
        "lower",
        "of the GPUs, else of the nodes' processors; sum over ranks and all submissions",
    ),
    _measured("kwh_per_sample", "kWh", "lower", "energy_kwh ÷ samples of all ranks"),
)

BUILT_IN_METRICS: dict[str, MetricDefinition] = {metric.name: metric for metric in _BUILT_IN}
"""What every run is measured by."""


def metrics_of(job: TrainingJob) -> dict[str, MetricDefinition]:
    """Every metric that a gate of this job may name."""
    return BUILT_IN_METRICS | _declared(job.workload.metrics, job.workload.quality)


def _declared(metrics: Iterable[UserMetric], quality: QualityConfig | None) -> dict[str, MetricDefinition]:
    found = {
        metric.name: MetricDefinition(
            metric.name,
            metric.unit,
            metric.better,
            "measured",
            # A seed fixes initial weights and data order, so runs of one seed vary together.
            pairs_by_seed=True,
            aggregation=f"{metric.aggregation} of the values reported in a run",
            source="workload",
        )
        for metric in metrics
    }
    if quality is not None and quality.metric not in found:
        found[quality.metric] = MetricDefinition(
            quality.metric,
            "1",
            quality.better,
            "measured",
            pairs_by_seed=True,
            aggregation="last value reported in a run",
            source="workload",
        )
    return found
