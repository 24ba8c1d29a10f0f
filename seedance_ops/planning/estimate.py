"""What a run of a job will cost, before anything is submitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

from pydantic import Field

from seedance_ops.cost.catalogue import Price
from seedance_ops.jobs.longest_run import longest_run_s
from seedance_ops.jobs.profiles import LauncherProfile
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.planning.history import HistoryRecord
from seedance_ops.strict_model import StrictModel

Basis = Literal["history", "declared", "bound"]
_S_PER_H = 3600.0


class VariantEstimate(StrictModel):
    """The trainings of one variant."""

    variant: str
    runs: int = Field(ge=1)
    run_s: float = Field(gt=0.0)
    """Seconds of one training."""
    basis: Basis
    """``history``: mean of earlier runs of the same job; ``declared``: ``budget.expected_run_s``; ``bound``:
    the longest that a launch may take, which is far above what most will."""
    accelerators: int = Field(ge=1)
    usd_per_accelerator_hour: float = Field(gt=0.0)

    @property
    def accelerator_hours(self) -> float:
        """Over all of the variant's runs."""
        return self.runs * self.accelerators * self.run_s / _S_PER_H

    @property
    def usd(self) -> float:
        """Over all of the variant's runs."""
        return self.accelerator_hours * self.usd_per_accelerator_hour


class BreakEven(StrictModel):
    """After how many production runs the study has paid for itself."""

    variant: str
    saving_usd_per_run: float = Field(gt=0.0)
    basis: str
    """Where the saving comes from: an earlier run, or what a gate demands."""
    production_runs: float = Field(gt=0.0)


class Estimate(StrictModel):
    """``seedance estimate``."""

    job: str
    usd: float
    accelerator_hours: float
    duration_s: float
    """With as many trainings at a time as the launcher's slots allow."""
    variants: tuple[VariantEstimate, ...]
    break_even: BreakEven | None
    """None where nothing says yet what a variant saves."""
    over_budget: tuple[str, ...]
    """Why the run would be refused; empty where it would not."""


def estimate_study(
    job: TrainingJob,
    *,
    profiles: Mapping[str, LauncherProfile],
    prices: Mapping[str, Price],
    history: Sequence[HistoryRecord] = (),
) -> Estimate:
    """Cost, accelerator hours and duration of one run of a job.

    Args:
        job: The job, with the run's overrides.
        profiles: Launcher profile by variant.
        prices: Price by variant.
        history: Earlier judged runs of the job, oldest first; the newest that did the same work counts.
    """
    variants = tuple(_variant(job, name, prices[name], history) for name in job.variants)
    usd = sum(variant.usd for variant in variants)
    return Estimate(
        job=job.metadata.name,
        usd=usd,
        accelerator_hours=sum(variant.accelerator_hours for variant in variants),
        duration_s=_duration_s(job, variants, profiles),
        variants=variants,
        break_even=_break_even(job, variants, usd, history),
        over_budget=tuple(_over_budget(job, variants, usd)),
    )


def _variant(job: TrainingJob, name: str, price: Price, history: Sequence[HistoryRecord]) -> VariantEstimate:
    resolved = job.resolve(name)
    accelerators = resolved.num_nodes * resolved.resources.count
    longest_s = longest_run_s(job, accelerators, price.usd_per_accelerator_hour)
    run_s, basis = _run_s(job, name, longest_s, history)
    return VariantEstimate(
        variant=name,
        runs=job.repeats.seeds,
        run_s=run_s,
        basis=basis,
        accelerators=accelerators,
        usd_per_accelerator_hour=price.usd_per_accelerator_hour,
    )


def _run_s(
    job: TrainingJob, variant: str, longest_s: float, history: Sequence[HistoryRecord]
) -> tuple[float, Basis]:
    samples = job.resolve(variant).work
    for record in reversed(history):
        seconds = record.values(variant, "run_s")
        done = record.values(variant, "samples")
        same_work = samples is None or samples[0] != "samples" or not done or fmean(done) == samples[1]
        if seconds and same_work:
            return fmean(seconds), "history"
    if job.budget.expected_run_s is not None:
        return job.budget.expected_run_s, "declared"
    return longest_s, "bound"


def _duration_s(
    job: TrainingJob, variants: Sequence[VariantEstimate], profiles: Mapping[str, LauncherProfile]
) -> float:
    slots = min((profiles[name].slots for name in job.variants), default=1)
    longest = max(variant.run_s for variant in variants)
    return max(longest, sum(variant.runs * variant.run_s for variant in variants) / slots)


def _break_even(
    job: TrainingJob, variants: Sequence[VariantEstimate], usd: float, history: Sequence[HistoryRecord]
) -> BreakEven | None:
    saving = _saving_seen(job, history) or _saving_demanded(job, variants)
    if saving is None:
        return None
    variant, usd_per_run, basis = saving
    return BreakEven(
        variant=variant, saving_usd_per_run=usd_per_run, basis=basis, production_runs=usd / usd_per_run
    )


def _saving_seen(job: TrainingJob, history: Sequence[HistoryRecord]) -> tuple[str, float, str] | None:
    for record in reversed(history):
        baseline = record.values(job.baseline, "usd_per_run")
        savings = {
            variant: fmean(baseline) - fmean(values)
            for variant in record.accepted
            if baseline and variant in job.variants and (values := record.values(variant, "usd_per_run"))
        }
        if savings and (best := max(savings, key=savings.__getitem__)) and savings[best] > 0.0:
            return best, savings[best], f"run {record.run_id}"
    return None


def _saving_demanded(job: TrainingJob, variants: Sequence[VariantEstimate]) -> tuple[str, float, str] | None:
    baseline = next(variant for variant in variants if variant.variant == job.baseline)
    usd_per_run = baseline.usd / baseline.runs
    for gate in job.gates:
        change = gate.change_at_most
        if gate.metric != "usd_per_run" or gate.compared_to != job.baseline or change is None:
            continue
        share = -change.relative if change.relative is not None else None
        saving = share * usd_per_run if share is not None else -(change.absolute or 0.0)
        candidates = [name for name in job.variants if gate.applies_to(name)]
        if saving > 0.0 and candidates:
            return candidates[0], saving, "what the gate on usd_per_run demands at least"
    return None


def _over_budget(job: TrainingJob, variants: Sequence[VariantEstimate], usd: float) -> list[str]:
    reasons = []
    if job.budget.usd is not None and usd > job.budget.usd:
        bounded = [variant.variant for variant in variants if variant.basis == "bound"]
        hint = (
            f"; {', '.join(bounded)} counted at the longest a launch may take: set budget.expected_run_s or "
            "budget.per_run_usd"
            if bounded
            else "; lower repeats.seeds or workload.stop"
        )
        reasons.append(f"the study would cost {usd:.4g} USD, budget.usd is {job.budget.usd:g}{hint}")
    if job.budget.per_run_usd is not None:
        reasons += [
            f"a run of {variant.variant} would cost {variant.usd / variant.runs:.4g} USD, budget.per_run_usd "
            f"is {job.budget.per_run_usd:g}"
            for variant in variants
            if variant.basis != "bound" and variant.usd / variant.runs > job.budget.per_run_usd * (1 + 1e-9)
        ]
    return reasons
