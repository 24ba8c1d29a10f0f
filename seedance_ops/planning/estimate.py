"""What a run of a job will cost, before anything is submitted."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import Literal

from pydantic import Field

from seedance_ops.cost.catalogue import Price
from seedance_ops.jobs.identity import settings_hash
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
    runs: int = Field(ge=0)
    """None of a variant whose runs are reused."""
    screening_runs: int = Field(default=0, ge=0)
    screening_s: float = Field(default=0.0, ge=0.0)
    """Seconds of one screening run."""
    run_s: float = Field(gt=0.0)
    """Seconds of one training."""
    basis: Basis
    """``history``: mean of earlier runs of the same job; ``declared``: ``budget.expected_run_s``; ``bound``:
    the longest that a launch may take, which is far above what most will."""
    accelerators: int = Field(ge=1)
    usd_per_accelerator_hour: float = Field(gt=0.0)
    host_usd_per_hour: float = Field(default=0.0, ge=0.0)
    """Of all its nodes, where ``prices.host_usd_per_node_hour`` bills them apart."""

    @property
    def usd_per_hour(self) -> float:
        """Accelerators and nodes together."""
        return self.accelerators * self.usd_per_accelerator_hour + self.host_usd_per_hour

    @property
    def accelerator_hours(self) -> float:
        """Over all of the variant's runs, those of a screening included."""
        seconds = self.runs * self.run_s + self.screening_runs * self.screening_s
        return self.accelerators * seconds / _S_PER_H

    @property
    def usd(self) -> float:
        """Over all of the variant's runs, those of a screening included."""
        return self.accelerator_hours / self.accelerators * self.usd_per_hour

    @property
    def usd_per_run(self) -> float:
        """One training in full."""
        return self.run_s / _S_PER_H * self.usd_per_hour

    def screened_only(self) -> VariantEstimate:
        """The variant, if the screening stops it."""
        return self.model_copy(update={"runs": 0})


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
    """With phases: as if the dearest went on, so that the sum is the most that the study can cost."""
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
    reused: Collection[str] = (),
) -> Estimate:
    """Cost, accelerator hours and duration of one run of a job.

    Args:
        job: The job, with the run's overrides.
        profiles: Launcher profile by variant.
        prices: Price by variant.
        history: Earlier judged runs of the job, oldest first; for each variant the newest counts that had
            the same settings and launcher, whatever its code.
        reused: Variants whose runs an earlier study has paid for.
    """
    runs = {name: 0 if name in reused else job.repeats.seeds for name in job.variants}
    settings = {name: settings_hash(job, name, profiles[name]) for name in job.variants}
    found = tuple(
        _variant(job, name, prices[name], _of_same_settings(history, name, settings[name]), runs[name])
        for name in job.variants
    )
    variants = _going_on(job, found)
    usd = sum(variant.usd for variant in variants)
    return Estimate(
        job=job.metadata.name,
        usd=usd,
        accelerator_hours=sum(variant.accelerator_hours for variant in variants),
        duration_s=_duration_s(job, variants, profiles),
        variants=variants,
        break_even=_break_even(job, variants, usd, history, settings),
        over_budget=tuple(_over_budget(job, variants, usd)),
    )


def _going_on(job: TrainingJob, variants: tuple[VariantEstimate, ...]) -> tuple[VariantEstimate, ...]:
    """With phases, the baseline and the ``top`` dearest others in full: nobody knows yet which it will be.

    What any gate compares with may have to go on too.
    """
    if job.phases is None:
        return variants
    others = [variant for variant in variants if variant.variant != job.baseline]
    dearest = sorted(others, key=lambda variant: variant.usd_per_run, reverse=True)[: job.phases.confirm.top]
    compared = {gate.compared_to for gate in job.gates}
    in_full = {job.baseline, *compared, *(variant.variant for variant in dearest)}
    return tuple(variant if variant.variant in in_full else variant.screened_only() for variant in variants)


def _of_same_settings(history: Sequence[HistoryRecord], variant: str, settings: str) -> list[HistoryRecord]:
    return [record for record in history if record.settings.get(variant) == settings]


def _variant(
    job: TrainingJob, name: str, price: Price, history: Sequence[HistoryRecord], runs: int
) -> VariantEstimate:
    resolved = job.resolve(name)
    accelerators = resolved.num_nodes * resolved.resources.count
    longest_s = longest_run_s(job, accelerators, price.usd_per_accelerator_hour)
    run_s, basis = _run_s(job, name, longest_s, history)
    return VariantEstimate(
        variant=name,
        runs=runs,
        screening_runs=job.phases.screen.seeds if job.phases else 0,
        screening_s=_screening_s(job, name, run_s, history if basis == "history" else ()),
        run_s=run_s,
        basis=basis,
        accelerators=accelerators,
        host_usd_per_hour=resolved.num_nodes * host.usd
        if (host := job.prices.host_usd_per_node_hour)
        else 0.0,
        usd_per_accelerator_hour=price.usd_per_accelerator_hour,
    )


def _screening_s(job: TrainingJob, variant: str, run_s: float, history: Sequence[HistoryRecord]) -> float:
    """Training shrinks with the samples, start-up does not; without a history nobody knows how long that is.

    Where the samples of a run are not known, a screening run counts as a whole one.
    """
    if job.phases is None:
        return 0.0
    work = job.resolve(variant).work
    if work is None or work[0] != "samples":
        return run_s
    trained = next(
        (found for r in reversed(history) if (found := r.values(variant, "train_elapsed_s"))), None
    )
    train_s = min(run_s, fmean(trained)) if trained else run_s
    return run_s - train_s * (1.0 - min(1.0, job.phases.screen.samples / work[1]))


def _run_s(
    job: TrainingJob, variant: str, longest_s: float, history: Sequence[HistoryRecord]
) -> tuple[float, Basis]:
    for record in reversed(history):
        if seconds := record.values(variant, "run_s"):
            return fmean(seconds), "history"
    if job.budget.expected_run_s is not None:
        return job.budget.expected_run_s, "declared"
    return longest_s, "bound"


def _duration_s(
    job: TrainingJob, variants: Sequence[VariantEstimate], profiles: Mapping[str, LauncherProfile]
) -> float:
    """The screening, then the rest; a block is trained one run after another."""
    slots = min((profiles[name].slots for name in job.variants), default=1)
    screening = [(variant.screening_runs, variant.screening_s) for variant in variants]
    in_full = [(variant.runs, variant.run_s) for variant in variants]
    return sum(_makespan(_units(job, phase), slots) for phase in (screening, in_full))


def _units(job: TrainingJob, phase: Sequence[tuple[int, float]]) -> list[float]:
    """Seconds of everything that takes a slot by itself: the runs, or the blocks of a seed each."""
    if job.repeats.block == "none":
        return [seconds for runs, seconds in phase for _ in range(runs)]
    blocks = max((runs for runs, _ in phase), default=0)
    return [sum(seconds for runs, seconds in phase if seed < runs) for seed in range(blocks)]


def _makespan(units: Sequence[float], slots: int) -> float:
    """Seconds until all have ended, the longest started first, each on the slot that is free first."""
    free_at = [0.0] * min(slots, max(1, len(units)))
    for seconds in sorted(units, reverse=True):
        heapq.heapreplace(free_at, free_at[0] + seconds)
    return max(free_at)


def _break_even(
    job: TrainingJob,
    variants: Sequence[VariantEstimate],
    usd: float,
    history: Sequence[HistoryRecord],
    settings: Mapping[str, str],
) -> BreakEven | None:
    saving = _saving_seen(job, history, settings) or _saving_demanded(job, variants)
    if saving is None:
        return None
    variant, usd_per_run, basis = saving
    return BreakEven(
        variant=variant, saving_usd_per_run=usd_per_run, basis=basis, production_runs=usd / usd_per_run
    )


def _saving_seen(
    job: TrainingJob, history: Sequence[HistoryRecord], settings: Mapping[str, str]
) -> tuple[str, float, str] | None:
    """In USD of that run's prices."""
    for record in reversed(_of_same_settings(history, job.baseline, settings[job.baseline])):
        baseline = record.values(job.baseline, "usd_per_run")
        savings = {
            variant: fmean(baseline) - fmean(values)
            for variant in record.accepted
            if baseline
            and record.settings.get(variant) == settings.get(variant)
            and (values := record.values(variant, "usd_per_run"))
        }
        if savings and (best := max(savings, key=savings.__getitem__)) and savings[best] > 0.0:
            return best, savings[best], f"run {record.run_id}"
    return None


def _saving_demanded(job: TrainingJob, variants: Sequence[VariantEstimate]) -> tuple[str, float, str] | None:
    baseline = next(variant for variant in variants if variant.variant == job.baseline)
    usd_per_run = baseline.usd_per_run
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
            f"a run of {variant.variant} would cost {variant.usd_per_run:.4g} USD, budget.per_run_usd "
            f"is {job.budget.per_run_usd:g}"
            for variant in variants
            if variant.basis != "bound" and variant.usd_per_run > job.budget.per_run_usd * (1 + 1e-9)
        ]
    return reasons
