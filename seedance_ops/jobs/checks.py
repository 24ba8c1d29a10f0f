"""What must hold between the parts of a job, beyond each value's own bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from seedance_ops.jobs.check_compression import compression_findings, compression_warnings
from seedance_ops.jobs.check_devices import device_findings
from seedance_ops.jobs.check_gates import gate_findings, gate_warnings
from seedance_ops.jobs.check_launcher import launcher_findings
from seedance_ops.jobs.check_levels import level_findings
from seedance_ops.jobs.check_parallelism import parallelism_findings, sharded_session_findings
from seedance_ops.jobs.check_params import param_findings
from seedance_ops.jobs.check_phases import phase_findings, phase_warnings
from seedance_ops.jobs.check_program import program_findings
from seedance_ops.jobs.check_schedule import schedule_findings
from seedance_ops.jobs.check_secrets import reserved_variable_findings
from seedance_ops.jobs.check_variants import overriding_path, variant_findings, variant_warnings
from seedance_ops.jobs.execution import MAXIMUM_RUNS, MINIMUM_SEEDS
from seedance_ops.jobs.findings import Finding, dotted
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.resolvable import resolvable
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import OVERRIDABLE


def check(job: TrainingJob, project: ProjectContext | None) -> list[Finding]:
    """Every fault of a job whose single values are valid."""
    return [
        *schedule_findings(job.schedule),
        *_repeat_findings(job),
        *phase_findings(job),
        *_treatment_findings(job, project),
        *variant_findings(job),
        *parallelism_findings(job),
        *compression_findings(job),
        *device_findings(job, project),
        *level_findings(job),
        *_findings_within_variants(job, project),
        *gate_findings(job),
        *param_findings(job),
    ]


def warn(job: TrainingJob) -> list[Finding]:
    """What a person should know about a valid job."""
    return [
        *_repeat_warnings(job),
        *phase_warnings(job),
        *_workload_warnings(job),
        *variant_warnings(job),
        *compression_warnings(job),
        *gate_warnings(job),
    ]


def _treatment_findings(job: TrainingJob, project: ProjectContext | None) -> list[Finding]:
    return [
        *_workload_findings(job),
        *sharded_session_findings(job),
        *(program_findings(job, project) if project else ()),
        *launcher_findings(job, project),
    ]


def _findings_within_variants(job: TrainingJob, project: ProjectContext | None) -> Iterator[Finding]:
    """What would be wrong with the job if a variant's ``set`` were written in its place."""
    in_the_job = {(finding.path, finding.message) for finding in _treatment_findings(job, project)}
    for resolved in resolvable(job):
        name, variant = resolved.name, job.variants[resolved.name]
        written_out = job.model_copy(update={field: getattr(resolved, field) for field in OVERRIDABLE})
        for finding in _treatment_findings(written_out, project) if variant.overrides else ():
            causes = (overriding_path(variant.overrides, dotted(at)) for at in (finding.path, *finding.reads))
            cause = next((cause for cause in causes if cause is not None), None)
            if cause is not None and (finding.path, finding.message) not in in_the_job:
                yield replace(finding, path=("variants", name, "set", cause))


def _repeat_findings(job: TrainingJob) -> Iterator[Finding]:
    variants, seeds = len(job.variants), job.repeats.seeds
    if variants * seeds > MAXIMUM_RUNS:
        yield Finding(
            ("repeats", "seeds"),
            f"{variants} variants × {seeds} seeds are {variants * seeds} runs: Airflow maps a task over at "
            f"most {MAXIMUM_RUNS} (core.max_map_length)",
            allowed=f"1 … {MAXIMUM_RUNS // variants} with {variants} variants",
            suggestion="lower it, or split the variants over several jobs",
            reads=(("variants",),),
        )


def _repeat_warnings(job: TrainingJob) -> Iterator[Finding]:
    if job.repeats.seeds < MINIMUM_SEEDS:
        yield Finding(
            ("phases", "confirm", "seeds") if job.phases else ("repeats", "seeds"),
            f'fewer than {MINIMUM_SEEDS} seeds: the verdict will be "not judgeable"',
            allowed=f"{MINIMUM_SEEDS} or more for a verdict",
        )


def _workload_findings(job: TrainingJob) -> Iterator[Finding]:
    workload = job.workload
    runtime = ("workload", "runtime")
    for name, value in (("batch", workload.batch), ("stop", workload.stop)):
        path = ("workload", name)
        if workload.runtime == "session" and value is None:
            yield Finding(path, f"required with runtime: session: {name} is missing", reads=(runtime,))
        if workload.runtime == "none" and value is not None:
            yield Finding(
                path,
                "nothing applies it with runtime: none, which runs the program unchanged",
                suggestion="say it in workload.args",
                reads=(runtime,),
                at_key=True,
            )
    if workload.runtime == "session" and workload.launch == "none" and job.world_size > 1:
        yield Finding(
            ("workload", "launch"),
            "a session over several nodes needs launch: torchrun",
            reads=(runtime, ("num_nodes",)),
        )
    yield from _stop_findings(job)
    yield from _metric_findings(job)
    yield from _best_checkpoint_findings(job)
    yield from reserved_variable_findings(workload.env, ("workload", "env"))
    for name in workload.env.keys() & workload.secrets.keys():
        yield Finding(("workload", "secrets", name), "stands in env too", at_key=True)


def _stop_findings(job: TrainingJob) -> Iterator[Finding]:
    if job.steps and job.steps.whole_steps() == 0:
        yield Finding(
            ("workload", "stop", "samples"),
            f"less than one step, which takes {job.steps.samples_per_step} samples",
            allowed=f"{job.steps.samples_per_step} or more",
            suggestion="raise it, or lower workload.batch.per_rank",
            reads=(("workload", "batch"), ("num_nodes",), ("resources",), ("workload", "launch")),
        )


def _metric_findings(job: TrainingJob) -> Iterator[Finding]:
    from seedance_ops.jobs.metrics import BUILT_IN_METRICS

    quality = job.workload.quality
    seen: set[str] = set()
    for index, metric in enumerate(job.workload.metrics):
        path = ("workload", "metrics", index, "name")
        if metric.name in BUILT_IN_METRICS:
            yield Finding(path, "this name belongs to a built-in metric")
        if metric.name in seen:
            yield Finding(path, "the metric is declared twice")
        if quality and metric.name == quality.metric and metric.better != quality.better:
            yield Finding((*path[:-1], "better"), f"workload.quality says {quality.better} for this metric")
        seen.add(metric.name)
    if quality and quality.metric in BUILT_IN_METRICS:
        yield Finding(("workload", "quality", "metric"), "this name belongs to a built-in metric")


def _best_checkpoint_findings(job: TrainingJob) -> Iterator[Finding]:
    best, quality = job.checkpoint.keep.best, job.workload.quality
    if best is None or job.workload.runtime != "session":
        return
    path = ("checkpoint", "keep", "best")
    reads = (("workload", "quality"), ("workload", "metrics"))
    declared = job.workload.better(best.metric)
    if best.metric not in {*(metric.name for metric in job.workload.metrics), quality and quality.metric}:
        yield Finding(
            (*path, "metric"),
            "the workload does not declare this metric",
            suggestion="declare it under workload.quality or workload.metrics",
            reads=reads,
        )
    elif (best.better or declared) is None:
        yield Finding(
            (*path, "better"),
            f"workload.metrics does not say which direction of {best.metric} is better",
            allowed="lower, higher",
            suggestion=f"best: {{metric: {best.metric}, better: lower}}, or higher",
            reads=reads,
        )
    elif best.better and declared and best.better != declared:
        yield Finding(
            (*path, "better"), f"the declaration of {best.metric} says {declared}", declared, reads=reads
        )


def _workload_warnings(job: TrainingJob) -> Iterator[Finding]:
    workload = job.workload
    if workload.image and "@sha256:" not in workload.image:
        yield Finding(("workload", "image"), "not pinned by digest: the tag may move between runs")
    if workload.runtime == "none" and "checkpoint" in job.model_fields_set:
        yield Finding(("checkpoint",), "nothing applies it with runtime: none", at_key=True)
    if workload.quality is None:
        yield Finding(("workload", "quality"), "no quality metric: a cheaper variant may be a worse one")
