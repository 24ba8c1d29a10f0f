"""Whether each gate can be evaluated."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.jobs.findings import Finding, Path, listed, nearest
from seedance_ops.jobs.gates import Gate, Margin
from seedance_ops.jobs.metrics import MetricDefinition, metrics_of
from seedance_ops.jobs.training_job import TrainingJob

_METRIC_SOURCES = (("workload", "quality"), ("workload", "metrics"), ("workload", "runtime"))


def gate_findings(job: TrainingJob) -> Iterator[Finding]:
    """The gates' faults."""
    metrics = metrics_of(job)
    for index, gate in enumerate(job.gates):
        path: Path = ("gates", index)
        yield from _metric_findings(job, gate, (*path, "metric"), metrics)
        yield from _variant_findings(job, gate, path)


def gate_warnings(job: TrainingJob) -> Iterator[Finding]:
    """Gates that judge nothing, variants that nothing judges, and a run that can never succeed."""
    for index, gate in enumerate(job.gates):
        if not any(gate.applies_to(name) for name in job.variants):
            yield Finding(("gates", index), "applies to no variant")
    for name in job.variants:
        if name != job.baseline and not any(gate.applies_to(name) for gate in job.gates):
            yield Finding(("variants", name), "no gate judges this variant", at_key=True)
    yield from _acceptance_warnings(job)
    if "approval" in job.model_fields_set and all(gate.severity != "approval" for gate in job.gates):
        yield Finding(
            ("approval",),
            "asks nobody: no gate has severity approval",
            suggestion="give a gate `severity: approval`, or leave this out",
            at_key=True,
        )


def _acceptance_warnings(job: TrainingJob) -> Iterator[Finding]:
    """A variant to which no gate of severity error or approval applies is not judgeable: never accepted.

    Nor is the baseline: it is what the others are compared with.
    """
    judged = [name for name in job.variants if name != job.baseline]
    demanding = [gate for gate in job.gates if gate.demands]
    acceptable = [name for name in judged if any(gate.applies_to(name) for gate in demanding)]
    never = {
        "report": False,
        "any": not acceptable,
        "all": not acceptable or len(acceptable) < len(judged),
    }
    if never[job.accept]:
        others = listed(name for name in judged if name not in acceptable) or "any variant but the baseline"
        yield Finding(
            ("accept",),
            f"{job.accept} can never hold, so every run will fail: "
            f"no gate of severity error or approval applies to {others}",
            suggestion="add such a gate, or write `accept: report`",
        )


def _metric_findings(
    job: TrainingJob, gate: Gate, path: Path, metrics: dict[str, MetricDefinition]
) -> Iterator[Finding]:
    metric = metrics.get(gate.metric)
    if metric is None:
        yield Finding(
            path,
            "unknown metric",
            listed(sorted(metrics)),
            nearest(gate.metric, metrics),
            reads=_METRIC_SOURCES,
        )
    elif metric.source == "session" and job.workload.runtime == "none":
        known = sorted(name for name, other in metrics.items() if other.source != "session")
        yield Finding(path, "cannot be measured with runtime: none", listed(known), reads=_METRIC_SOURCES)
    elif gate.metric == "usd_to_target_quality" and (
        not job.workload.quality or job.workload.quality.target is None
    ):
        yield Finding(path, "needs workload.quality.target", reads=_METRIC_SOURCES)
    elif gate.non_inferior_within is not None:
        yield from _direction_findings(metric, gate.non_inferior_within, path)


def _direction_findings(metric: MetricDefinition, margin: Margin, path: Path) -> Iterator[Finding]:
    """What keeps "not worse than a margin" from meaning anything."""
    if metric.better == "none":
        yield Finding(
            path,
            "has no better direction, so nothing is worse: non_inferior_within cannot judge it",
            suggestion="write `equivalent_within`",
            reads=_METRIC_SOURCES,
        )
    elif metric.better == "higher" and margin.relative is not None and margin.relative >= 1.0:
        yield Finding(
            (*path[:-1], "non_inferior_within", "relative"),
            f"{margin.relative:g} allows {metric.name} to fall by 100 % or more, so it demands nothing",
        )


def _variant_findings(job: TrainingJob, gate: Gate, path: Path) -> Iterator[Finding]:
    named: list[tuple[Path, str]] = [
        ((*path, "variants", i), name) for i, name in enumerate(gate.variants or ())
    ]
    if gate.compared_to is not None:
        named.append(((*path, "compared_to"), gate.compared_to))
    for place, name in named:
        if name not in job.variants:
            yield Finding(place, "no such variant", listed(job.variants), nearest(name, job.variants))
    if gate.variants is not None and set(gate.variants) == {gate.compared_to}:
        yield Finding((*path, "variants"), "compares a variant with itself")
