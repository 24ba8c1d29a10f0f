"""Whether each variant can run, and does the same work as the others."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pydantic import JsonValue, ValidationError

from seedance_ops.jobs.dotted import DottedPathError
from seedance_ops.jobs.explain import explain
from seedance_ops.jobs.findings import Finding, Path, dotted, listed, nearest
from seedance_ops.jobs.strategies import strategy_finding
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import OVERRIDABLE, ResolvedVariant, Treatment
from seedance_ops.training.compression.config import DenseConfig

_THE_SAME_FOR_ALL = [["workload", name] for name in ("secrets", "runtime", "quality", "metrics")]
_WORK = (("workload", "stop"), ("workload", "batch"), ("num_nodes",), ("resources",), ("workload", "launch"))


def variant_findings(job: TrainingJob) -> Iterator[Finding]:
    """The variants' faults."""
    resolved: dict[str, ResolvedVariant] = {}
    for name in job.variants:
        faults = list(_override_findings(job, name))
        yield from faults
        if faults:
            continue
        try:
            resolved[name] = job.resolve(name)
        except (ValidationError, DottedPathError) as error:
            yield from _unfit_overrides(job, name, error)
            continue
        yield from _strategy_findings(resolved[name])
    yield from _unequal_work(job, resolved)


def variant_warnings(job: TrainingJob) -> Iterator[Finding]:
    """Work that does not divide evenly."""
    for name in job.variants:
        variant = job.resolve(name)
        path: Path = ("variants", name)
        stop, steps = variant.workload.stop, variant.steps
        if stop and steps and stop.samples and (rest := stop.samples % steps.samples_per_step):
            message = (
                f"{stop.samples} samples are no multiple of {steps.samples_per_step} per step: "
                f"training stops {rest} samples earlier"
            )
            yield Finding(path, message, at_key=True)
    yield from _unknown_work(job)


def _override_findings(job: TrainingJob, name: str) -> Iterator[Finding]:
    for path in job.variants[name].overrides:
        parts = path.split(".")
        at: Path = ("variants", name, "set", path)
        if strategy := strategy_finding(at, parts[0], in_variant=False):
            yield strategy
        elif parts[0] not in OVERRIDABLE:
            yield Finding(
                at,
                "a variant may not change this",
                allowed=f"paths that start with {listed(OVERRIDABLE)}",
                suggestion=nearest(parts[0], OVERRIDABLE),
                at_key=True,
            )
        elif parts[:2] in _THE_SAME_FOR_ALL:
            yield Finding(at, f"the same for every variant: {parts[1]} may not change", at_key=True)
        elif "" in parts:
            yield Finding(at, "a dotted path with an empty part", at_key=True)


def _unfit_overrides(
    job: TrainingJob, name: str, error: ValidationError | DottedPathError
) -> Iterator[Finding]:
    overrides: dict[str, JsonValue] = job.variants[name].overrides
    base: Path = ("variants", name, "set")
    if isinstance(error, DottedPathError):
        yield Finding(base, str(error), at_key=True)
        return
    data: JsonValue = {}
    for path, value in overrides.items():
        nested: JsonValue = value
        for part in reversed(path.split(".")):
            nested = {part: nested}
        data = _overlay(data, nested)
    for finding in explain(error, Treatment, data):
        target = dotted(finding.path)
        cause = overriding_path(overrides, target)
        message = finding.message if cause in (target, None) else f"{target}: {finding.message}"
        yield Finding((*base, cause) if cause else base, message, finding.allowed, finding.suggestion)


def _overlay(lower: JsonValue, upper: JsonValue) -> JsonValue:
    if not (isinstance(lower, dict) and isinstance(upper, dict)):
        return upper
    return {**lower, **{key: _overlay(lower.get(key), value) for key, value in upper.items()}}


def overriding_path(overrides: dict[str, JsonValue], target: str) -> str | None:
    """The override that lies on, above or below a faulty path."""
    related = [
        path
        for path in overrides
        if f"{target}.".startswith(f"{path}.") or f"{path}.".startswith(f"{target}.")
    ]
    return max(related, key=len, default=None)


def _strategy_findings(variant: ResolvedVariant) -> Iterator[Finding]:
    runtime = ("workload", "runtime")
    if variant.workload.runtime == "none" and variant.compression != DenseConfig():
        yield Finding(
            ("variants", variant.name, "gradient_compression"),
            "runtime: none runs the program unchanged and cannot apply a strategy",
            suggestion="workload.runtime: session, and TrainingSession in the program",
            reads=(runtime,),
            at_key=True,
        )


def _unequal_work(job: TrainingJob, resolved: dict[str, ResolvedVariant]) -> Iterator[Finding]:
    baseline = resolved.get(job.baseline)
    if job.unequal_work == "allowed" or baseline is None:
        return
    for name, variant in resolved.items():
        if variant.work != baseline.work:
            yield Finding(
                ("variants", name),
                f"does {_amount(variant)}, {job.baseline} does {_amount(baseline)}: costs would not compare",
                allowed="the same work for every variant",
                suggestion=f"{_equalising(resolved)}, or write `unequal_work: allowed`",
                reads=(*_WORK, ("variants", job.baseline), ("unequal_work",)),
                at_key=True,
            )


def _amount(variant: ResolvedVariant) -> str:
    if variant.work is None:
        return "an undeclared amount of work"
    steps = f" in {variant.total_steps} whole steps" if variant.total_steps is not None else ""
    return " ".join(map(str, reversed(variant.work))) + steps


def _equalising(resolved: dict[str, ResolvedVariant]) -> str:
    """What to write so that every variant does the same: a number of samples that each one's steps divide."""
    stops = {variant.workload.stop for variant in resolved.values()}
    asked = next((stop.samples for stop in stops if stop), None) if len(stops) == 1 else None
    sizes = _step_sizes(resolved)
    if asked is None or not sizes:
        return "stop by samples, the same for all"
    multiple = math.lcm(*sizes)
    nearest_multiple = max(1, round(asked / multiple)) * multiple
    return (
        f"stop: {{samples: {nearest_multiple}}}, a multiple of every step ({listed(map(str, sizes))} samples)"
    )


def _step_sizes(resolved: dict[str, ResolvedVariant]) -> list[int]:
    """Samples per step over all ranks, each size once."""
    return sorted(
        {
            variant.workload.batch.per_rank * variant.world_size
            for variant in resolved.values()
            if variant.workload.batch is not None
        }
    )


def _unknown_work(job: TrainingJob) -> Iterator[Finding]:
    sizes = _step_sizes({name: job.resolve(name) for name in job.variants})
    if job.workload.stop and job.workload.stop.tokens and len(sizes) > 1 and job.unequal_work == "refused":
        yield Finding(
            ("workload", "stop", "tokens"),
            f"variants take {listed(map(str, sizes))} samples a step: whether whole steps do the same work "
            "depends on the tokens of a sample",
            suggestion="stop by samples, in a multiple of every step",
        )
