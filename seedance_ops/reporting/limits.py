"""What the reader of a report must keep in mind, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

import pandas as pd

from seedance_ops.cost.peaks import PeakUsed
from seedance_ops.jobs.execution import MINIMUM_SEEDS
from seedance_ops.jobs.reuse import ReusedRuns
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.statistics import Statistics
from seedance_ops.quality.wording import number, percent
from seedance_ops.stats.outcomes import NotJudgeable

_ENOUGH_RUNS = 10


def limits_of(
    job: TrainingJob,
    statistics: Statistics,
    runs: pd.DataFrame,
    reused: Mapping[str, ReusedRuns] = MappingProxyType({}),
    peaks: Mapping[str, PeakUsed | None] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Sample size, method, what could have been detected, and what the measurements are."""
    return (
        *_sample(job),
        *_reused(reused),
        *_detectable(job, statistics),
        *_target(job, statistics, runs),
        *_measurements(job, runs),
        *_utilisation(runs, peaks),
    )


def _sample(job: TrainingJob) -> Iterator[str]:
    seeds = job.repeats.seeds
    yield (
        f"The unit is one run; {seeds} per variant, order {job.repeats.order}. Intervals are 95 % of "
        "Student's t with Welch's degrees of freedom (within seeds for metrics that share a seed's "
        "randomness); counted metrics are exact and show their range. Equivalence is a TOST at α 0.05."
    )
    if seeds < MINIMUM_SEEDS:
        yield f"Fewer than {MINIMUM_SEEDS} runs per variant: nothing can be judged."
    elif seeds < _ENOUGH_RUNS:
        yield f"Fewer than {_ENOUGH_RUNS} runs per variant: an indication, not yet a claim."
    if job.gates and len(job.variants) > 2:
        yield "Within a gate, p values are corrected by Holm for the number of variants that it tests."
    if len(job.gates) > 1:
        yield (
            "There is no correction for the number of gates: a variant must hold all that demand something."
        )


def _reused(reused: Mapping[str, ReusedRuns]) -> Iterator[str]:
    for variant, runs in reused.items():
        ended = datetime.fromtimestamp(runs.ended_at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
        yield (
            f"The runs of {variant} are those of run {runs.run_id}, which ended {ended}: same treatment "
            "and circumstances, priced by this run's prices, not mixed in time with the others. A machine "
            "that has become slower since makes every other variant look dearer; the study's cost leaves "
            "them out."
        )


def _detectable(job: TrainingJob, statistics: Statistics) -> Iterator[str]:
    quality = job.workload.quality
    for metric in ("usd_per_run", *([quality.metric] if quality else [])):
        found: list[str] = []
        for variant in job.variants:
            row = statistics.comparison(variant, metric)
            if row is None or isinstance(row.outcome, NotJudgeable):
                continue
            smallest = row.outcome.minimum_detectable_difference
            base = statistics.level(statistics.baseline, metric)
            if smallest is None or base is None or not base.mean:
                continue
            share = percent(smallest / abs(base.mean), signed=False)
            found.append(f"{variant} {number(smallest)} ({share} of {statistics.baseline})")
        if found:
            yield f"Smallest difference in {metric} detected with 80 % power: {', '.join(found)}."


def _target(job: TrainingJob, statistics: Statistics, runs: pd.DataFrame) -> Iterator[str]:
    """Runs that never reached the target have no cost to it, and their variant no comparison."""
    quality = job.workload.quality
    if quality is None or quality.target is None:
        return
    for variant in job.variants:
        completed = int((runs["variant"] == variant).sum()) if len(runs) else 0
        row = statistics.level(variant, "usd_to_target_quality")
        reached = row.n if row else 0
        if reached < completed:
            yield (
                f"{variant} reached the target {quality.metric} {number(quality.target)} in {reached} of "
                f"{completed} runs: its cost to target quality is not judged."
            )


def _measurements(job: TrainingJob, runs: pd.DataFrame) -> Iterator[str]:
    methods = sorted(set(runs["flops_method"].dropna()) - {"none"}) if len(runs) else []
    if methods:
        yield f"Model FLOPs: {', '.join(methods)}; recomputation is not counted."
    if len(runs) and "gpu_utilisation_mean" in runs and runs["gpu_utilisation_mean"].isna().all():
        yield "No GPU was measured: utilisation is that of the CPU."
    if job.workload.runtime == "none":
        yield "The program ran unchanged: time and utilisation are what the launcher saw."
    if job.unequal_work == "allowed":
        yield "The job allows variants to do different amounts of work: per-run figures may not compare."


def _utilisation(runs: pd.DataFrame, peaks: Mapping[str, PeakUsed | None]) -> Iterator[str]:
    """What a utilisation is a share of, where a GPU was measured."""
    if runs.empty or "mfu" not in runs or runs["gpu_utilisation_mean"].isna().all():
        return
    yield "Utilisation of a GPU is the driver's: the share of time in which any kernel ran, of no peak."
    by_peak: dict[str, list[str]] = {}
    completed = set(runs["variant"])
    for variant, peak in peaks.items():
        if variant not in completed:
            continue
        words = (
            f"MFU is achieved model FLOPS per accelerator ÷ {peak.words()}, in whatever precision it trained"
            if peak
            else "no MFU, since hardware.yaml has no entry for the accelerator, or the price is another's"
        )
        by_peak.setdefault(words, []).append(variant)
    for words, variants in by_peak.items():
        yield f"{', '.join(variants)}: {words}."
