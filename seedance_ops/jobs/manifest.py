"""What one run of a job consists of: the job as it was, and every training it needs, in order."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Collection, Iterable
from typing import Literal

from pydantic import Field

from seedance_ops.cost.catalogue import Price
from seedance_ops.jobs.profiles import LauncherProfile
from seedance_ops.jobs.reuse import ReusedRuns
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.strict_model import StrictModel
from seedance_ops.training.compression.device import DeviceProfile
from seedance_ops.training.config import StopCondition

RESERVED = "_run"
"""Folder for what belongs to the run as a whole; no variant can be called so."""

_HASHED = re.compile(r".*-[0-9a-f]{8}")


class PlannedRun(StrictModel):
    """One training: a variant under one seed, at its place in the order."""

    variant: str
    seed: int
    order: int = Field(ge=0)


class CodeVersion(StrictModel):
    """The archive of the workload's folder that every launch unpacks."""

    key: str
    sha256: str


class RunManifest(StrictModel):
    """``_run/manifest.json``: written by ``plan``, read by every later stage."""

    schema_version: Literal[1] = 1
    job: TrainingJob
    job_hash: str
    source: str
    """The job file's path, relative to its project."""
    run_id: str
    """Airflow's."""
    runs: tuple[PlannedRun, ...]
    """Of the confirming phase, where the job has phases."""
    screening_runs: tuple[PlannedRun, ...] = ()
    """Of the screening phase."""
    reused: dict[str, ReusedRuns] = {}
    """By variant: its runs are those of an earlier run of the job, and are not launched again."""
    profiles: dict[str, LauncherProfile]
    """Launcher profile by variant, as it stood when the run was planned."""
    prices: dict[str, Price] = {}
    """By variant, as the catalogue had them when the run was planned."""
    device_profiles: dict[str, tuple[DeviceProfile, ...]] = {}
    """By variant with ``mixed_precision``, as the hardware catalogue had them when the run was planned."""
    code: dict[str, CodeVersion] = {}
    """By variant; none where an image holds the code."""
    overrides: dict[str, str | int | float | bool | None] = {}
    """What the trigger form or ``--set`` changed."""
    replaced: dict[str, str | int | float | bool | None] = {}
    """What the job's file says at those paths; empty where it is not known."""
    planned_at_s: float

    @property
    def to_train(self) -> tuple[PlannedRun, ...]:
        """The runs that are launched."""
        return tuple(run for run in self.runs if run.variant not in self.reused)

    def screening(self) -> RunManifest:
        """The screening phase as a run of its own: every variant, few samples."""
        phases = self.job.phases
        if phases is None:
            raise ValueError(f"job {self.job.metadata.name} has no phases")
        stop = StopCondition(samples=phases.screen.samples)
        workload = self.job.workload.model_copy(update={"stop": stop})
        job = self.job.model_copy(update={"workload": workload})
        return self.model_copy(update={"job": job, "runs": self.screening_runs, "reused": {}})

    def confirming(self, variants: Collection[str]) -> RunManifest:
        """The confirming phase: only the runs of the variants that go on."""
        runs = tuple(run for run in self.runs if run.variant in variants)
        return self.model_copy(update={"job": self.job.only(variants), "runs": runs})

    def phase_of(self, variant: str, seed: int) -> RunManifest:
        """The manifest of the phase in which one training runs."""
        screened = any((run.variant, run.seed) == (variant, seed) for run in self.screening_runs)
        return self.screening() if screened else self


def plan_screening(job: TrainingJob, run_id: str) -> tuple[PlannedRun, ...]:
    """Every variant under every seed of the screening; none where the job has no phases.

    Its seeds follow the confirming ones, so that what is confirmed is confirmed on fresh seeds.
    """
    if job.phases is None:
        return ()
    first = job.repeats.seeds
    return _interleaved(job, f"{run_id} screening", range(first, first + job.phases.screen.seeds))


def plan_runs(job: TrainingJob, run_id: str) -> tuple[PlannedRun, ...]:
    """Every variant under every seed.

    ``order: randomised`` interleaves the variants in random order within each seed, so that a machine that
    drifts during the run drifts for all of them; the order follows from the run id alone, and so survives
    retries and cleared tasks.
    """
    return _interleaved(job, run_id, job.repeats.seed_values)


def _interleaved(job: TrainingJob, drawn_from: str, seeds: Iterable[int]) -> tuple[PlannedRun, ...]:
    digest = hashlib.sha256(drawn_from.encode()).digest()
    generator = random.Random(digest)  # noqa: S311 - an order, not a secret
    pairs: list[tuple[str, int]] = []
    for seed in seeds:
        block = [(variant, seed) for variant in job.variants]
        if job.repeats.order == "randomised":
            generator.shuffle(block)
        pairs += block
    return tuple(
        PlannedRun(variant=variant, seed=seed, order=order) for order, (variant, seed) in enumerate(pairs)
    )


def run_key(run_id: str) -> str:
    """A run id as a path segment of an object key; two ids never share one.

    An id that could be another's hashed form, or that a path would take for a way up, is hashed as well.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]", "-", run_id)
    if safe == run_id and safe.strip(".") and not _HASHED.fullmatch(safe):
        return safe
    return f"{safe[:150]}-{hashlib.sha256(run_id.encode()).hexdigest()[:8]}"


def training_prefix(variant: str, seed: int, take: int) -> str:
    """Where one training's tables and checkpoints stand below the run.

    A retry continues the same take. A new take begins when somebody clears a training that had finished.
    """
    return f"{variant}/seed-{seed}/take-{take}"
