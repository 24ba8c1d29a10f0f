"""Whether a screening can tell anything, and leaves something to confirm."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.jobs.execution import MAXIMUM_RUNS
from seedance_ops.jobs.findings import Finding, Path
from seedance_ops.jobs.training_job import TrainingJob

_STOP = ("workload", "stop")


def phase_findings(job: TrainingJob) -> Iterator[Finding]:
    """The phases' faults."""
    phases = job.phases
    if phases is None:
        return
    path: Path = ("phases", "screen", "samples")
    if job.repeats.seeds != phases.confirm.seeds:
        yield Finding(
            ("repeats", "seeds"),
            f"phases.confirm.seeds says {phases.confirm.seeds}",
            suggestion="leave it out: with phases, confirm.seeds is the number of repeats",
            reads=(("phases", "confirm"),),
        )
    if "repeats.seeds" in job.params:
        yield Finding(
            ("params", job.params.index("repeats.seeds")),
            "with phases, confirm.seeds is the number of repeats",
            suggestion="phases.confirm.seeds",
        )
    if job.workload.runtime == "none":
        yield Finding(
            ("phases",),
            "only runtime: session can be told to stop after fewer samples",
            reads=(("workload", "runtime"),),
            at_key=True,
        )
        return
    work = job.work
    if work and work[0] == "samples" and phases.screen.samples >= work[1]:
        yield Finding(
            path,
            f"a run in full takes {work[1]} samples: a screening must be shorter",
            allowed=f"1 … {work[1] - 1}",
            reads=(_STOP, ("workload", "batch")),
        )
    yield from _too_many(job, phases.screen.seeds)
    for name in job.variants:
        yield from _variant_findings(job, name, phases.screen.samples, path)


def phase_warnings(job: TrainingJob) -> Iterator[Finding]:
    """A screening that stops nobody."""
    phases = job.phases
    if phases is not None and phases.confirm.top >= len(job.variants) - 1:
        yield Finding(
            ("phases", "confirm", "top"),
            f"the job has {len(job.variants) - 1} variants beside the baseline: all go on, cheap or not",
            suggestion="lower it, or leave phases out",
        )


def _too_many(job: TrainingJob, seeds: int) -> Iterator[Finding]:
    if len(job.variants) * seeds > MAXIMUM_RUNS:
        yield Finding(
            ("phases", "screen", "seeds"),
            f"{len(job.variants)} variants × {seeds} seeds are more than the {MAXIMUM_RUNS} runs over which "
            "Airflow maps a task (core.max_map_length)",
            allowed=f"1 … {MAXIMUM_RUNS // len(job.variants)}",
            reads=(("variants",),),
        )


def _variant_findings(job: TrainingJob, name: str, samples: int, path: Path) -> Iterator[Finding]:
    for override in job.variants[name].overrides:
        if override.split(".")[:2] == list(_STOP):
            yield Finding(
                ("variants", name, "set", override),
                "with phases every variant stops alike: the screening says when",
                at_key=True,
            )
    try:
        steps = job.resolve(name).steps
    except ValueError:
        return  # found by variant_findings
    if steps and samples < steps.samples_per_step:
        yield Finding(
            path,
            f"less than one step of {name}, which takes {steps.samples_per_step} samples",
            allowed=f"{steps.samples_per_step} or more",
            reads=(("workload", "batch"), ("num_nodes",), ("resources",)),
        )
