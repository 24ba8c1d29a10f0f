"""How far a report can be trusted: what is missing, how noisy each metric is, and what looks wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy as np
import pandas as pd
from scipy import stats

from seedance_ops.cost.price_checks import age_findings
from seedance_ops.cost.run_cost import KEYS
from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.metrics import MetricDefinition, metrics_of
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.results import DataCheck, GateResults
from seedance_ops.quality.statistics import MetricLevel, Statistics
from seedance_ops.quality.wording import number
from seedance_ops.reporting.cross_checks import (
    AcrossVariants,
    CrossCheck,
    across_variants,
    cross_checks_of,
)
from seedance_ops.stats.bootstrap_t import is_skewed
from seedance_ops.stats.outcomes import NotJudgeable
from seedance_ops.strict_model import StrictModel

_COSTS = ("usd_to_target_quality", "usd_per_run")
_FEWEST_FOR_DRIFT = 6
_DRIFT_ALPHA = 0.01
"""Stricter than a gate's: it is looked for in every report."""


class Noise(StrictModel):
    """How much one metric varies between runs of one variant, and what that lets a comparison detect."""

    metric: str
    unit: str
    variant: str
    n: int
    coefficient_of_variation: float | None
    """Standard deviation ÷ |mean|; none with fewer than two runs or at a mean of 0."""
    minimum_detectable_difference: float | None
    """Against the baseline with 80 % power at α 0.05, in the metric's unit; none for the baseline."""
    hedges_g: float | None
    """Effect size against the baseline: difference ÷ standard deviation, corrected for few runs."""
    skewed: bool
    """By the rule of ``stats.bootstrap_t``, declared before any data."""


class Drift(StrictModel):
    """Whether the cost of a run rises or falls with the time of its start, whatever its variant."""

    spearman_rho: float
    """Of start time and cost ÷ mean cost of its variant."""
    p_value: float
    n: int


class Validity(StrictModel):
    """The panel."""

    planned_runs: int
    completed_runs: int
    submissions: int
    """Launches of these takes, those that failed or were preempted included."""
    cleared_submissions: int
    """Launches of earlier takes, which somebody cleared; no result rests on them."""
    noise: tuple[Noise, ...]
    cross_checks: tuple[CrossCheck, ...] = ()
    """Of the metrics of ``noise``."""
    across: tuple[AcrossVariants, ...] = ()
    """Of the same, where there are three variants or more."""
    drift: Drift | None
    """None with too few runs."""
    warnings: tuple[str, ...]
    data_checks: tuple[DataCheck, ...] = ()
    """What the suite of data expectations found; none where the run was judged without one."""
    suite_sha256: str | None = None
    """Of that suite."""

    @property
    def checks_not_held(self) -> tuple[DataCheck, ...]:
        """The data checks that failed, broke or had nothing to look at."""
        return tuple(check for check in self.data_checks if check.outcome != "pass")


def validity_of(
    manifest: RunManifest,
    stamp: dict[str, str],
    *,
    runs: pd.DataFrame,
    launches: pd.DataFrame,
    earlier_launches: pd.DataFrame,
    costs: pd.DataFrame,
    statistics: Statistics,
    gates: GateResults,
) -> Validity:
    """What a reader must know before relying on the numbers.

    Args:
        manifest: What was planned, and the prices with their dates.
        stamp: The run's provenance.
        runs: The run table: completed runs, without costs.
        launches: Every submission of the newest takes.
        earlier_launches: Those of the takes before.
        costs: What ``price_runs`` says.
        statistics: What ``summarise`` made of the runs.
        gates: What ``judge`` made of data and gates.
    """
    with_cost = runs.merge(costs[[*KEYS, *_COSTS]], on=KEYS, how="left")
    noise = tuple(_noise(manifest.job, with_cost, statistics))
    checked = [metric for metric in _watched(manifest.job) if metric.name in with_cost]
    variants, baseline = list(manifest.job.variants), manifest.job.baseline
    cross_checks = cross_checks_of(with_cost, checked, variants, baseline)
    drift = drift_of(with_cost)
    return Validity(
        planned_runs=len(manifest.runs),
        completed_runs=len(runs),
        submissions=int((~launches["variant"].isin(list(manifest.reused))).sum()),
        cleared_submissions=len(earlier_launches),
        noise=noise,
        cross_checks=cross_checks,
        across=across_variants(with_cost, checked, variants),
        drift=drift,
        warnings=(
            *_of_submissions(launches),
            *_of_nodes(manifest.job, launches),
            *_of_prices(manifest),
            *_of_drift(drift),
            *_of_skew(noise),
            *_of_cross_checks(cross_checks),
            *_of_code(stamp),
            *_of_order(manifest.job),
        ),
        data_checks=gates.data_checks,
        suite_sha256=gates.suite_sha256,
    )


def drift_of(runs: pd.DataFrame) -> Drift | None:
    """Spearman's ρ of start time and relative cost, over all runs; none with fewer than six or no spread.

    Args:
        runs: ``variant``, ``started_at_s``, ``usd_per_run``.
    """
    known = runs[["variant", "started_at_s", "usd_per_run"]].dropna()
    if len(known) < _FEWEST_FOR_DRIFT:
        return None
    relative = known["usd_per_run"] / known.groupby("variant")["usd_per_run"].transform("mean")
    if known["started_at_s"].nunique() < 2 or np.ptp(relative.to_numpy()) < 1e-12:
        return None
    found = stats.spearmanr(known["started_at_s"], relative)
    if not np.isfinite(found.statistic):
        return None
    return Drift(spearman_rho=float(found.statistic), p_value=float(found.pvalue), n=len(known))


def _watched(job: TrainingJob) -> list[MetricDefinition]:
    """The measured metrics that a verdict rests on: cost, quality, and what a gate judges."""
    metrics = metrics_of(job)
    quality = [job.workload.quality.metric] if job.workload.quality else []
    names = dict.fromkeys([*_COSTS, *quality, *(gate.metric for gate in job.gates)])
    return [metrics[name] for name in names if metrics[name].nature == "measured"]


def _noise(job: TrainingJob, runs: pd.DataFrame, statistics: Statistics) -> Iterator[Noise]:
    for name in (metric.name for metric in _watched(job)):
        if name not in runs:
            continue
        for variant in job.variants:
            level, row = statistics.level(variant, name), statistics.comparison(variant, name)
            if level is None or not level.n:
                continue
            values = runs.loc[runs["variant"] == variant, name].to_numpy(dtype=np.float64, na_value=np.nan)
            compared = row.outcome if row is not None and not isinstance(row.outcome, NotJudgeable) else None
            yield Noise(
                metric=name,
                unit=level.unit,
                variant=variant,
                n=level.n,
                coefficient_of_variation=_relative_spread(level),
                minimum_detectable_difference=compared.minimum_detectable_difference if compared else None,
                hedges_g=compared.hedges_g if compared else None,
                skewed=is_skewed(values[np.isfinite(values)]),
            )


def _relative_spread(level: MetricLevel) -> float | None:
    return level.sd / abs(level.mean) if level.sd is not None and level.mean else None


def _of_submissions(launches: pd.DataFrame) -> Iterator[str]:
    if launches.empty:
        return
    times = launches.groupby(KEYS).size()
    if again := int((times > 1).sum()):
        yield (
            f"{again} of {len(times)} runs needed more than one submission: the bill has them all, the "
            "training metrics only what counted."
        )


def _of_nodes(job: TrainingJob, launches: pd.DataFrame) -> Iterator[str]:
    """A block whose runs did not share their nodes has not shielded its comparison from them."""
    if job.repeats.block == "none" or launches.empty:
        return
    known = launches[launches["nodes"] != ""]
    nodes = known.groupby("seed")["nodes"].nunique()
    if apart := sorted(int(seed) for seed in nodes.index[nodes > 1]):
        yield f"Runs of one block ran on different nodes: seeds {', '.join(map(str, apart))}."


def _of_prices(manifest: RunManifest) -> Iterator[str]:
    bound = manifest.job.prices.max_age_days
    if bound is None:
        return
    planned = datetime.fromtimestamp(manifest.planned_at_s, UTC).date()
    distinct = {price.key: price for price in manifest.prices.values()}
    for finding in age_findings(distinct.values(), bound, planned):
        yield f"Price {finding.message}."


def _of_drift(drift: Drift | None) -> Iterator[str]:
    if drift is not None and drift.p_value < _DRIFT_ALPHA:
        way = "rises" if drift.spearman_rho > 0 else "falls"
        yield (
            f"The cost of a run {way} with the time of its start (Spearman's ρ {number(drift.spearman_rho)}, "
            f"p = {number(drift.p_value)}, {drift.n} runs): the machine drifted during the study."
        )


def _of_skew(noise: tuple[Noise, ...]) -> Iterator[str]:
    skewed = [f"{row.metric} of {row.variant}" for row in noise if row.skewed]
    if skewed:
        yield f"Skewed over runs: {', '.join(skewed)}: a few large values decide the mean."


def _of_cross_checks(checks: Sequence[CrossCheck]) -> Iterator[str]:
    for check in checks:
        if not check.agrees:
            yield (
                f"{check.metric} of {check.variant}: whether it differs at all depends on the test (t "
                f"p = {number(check.t_test_p_value)}, permutation p = {number(check.permutation_p_value)}): "
                "more seeds would tell."
            )


def _of_code(stamp: dict[str, str]) -> Iterator[str]:
    if stamp.get("git_dirty") == "yes":
        yield "The code had changes that no commit holds: nobody else can check out what ran."


def _of_order(job: TrainingJob) -> Iterator[str]:
    if job.repeats.order == "sequential" and len(job.variants) > 1:
        yield "Runs were ordered by seed and variant, not at random: a slow hour can fall on one variant."
