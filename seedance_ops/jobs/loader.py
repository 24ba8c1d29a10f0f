"""Load jobs: text → nodes → defaults → model → checks, with every error of a file at once."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, JsonValue, ValidationError

from seedance_ops.jobs.audit_job import AuditJob
from seedance_ops.jobs.check_audit import audit_findings
from seedance_ops.jobs.check_secrets import secret_findings
from seedance_ops.jobs.checks import check, warn
from seedance_ops.jobs.errors import JobError, JobErrors, Place
from seedance_ops.jobs.explain import explain
from seedance_ops.jobs.findings import Finding
from seedance_ops.jobs.findings import Path as KeyPath
from seedance_ops.jobs.locate import Source, locate
from seedance_ops.jobs.merge import merge
from seedance_ops.jobs.plain import from_plain
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.prune import prune
from seedance_ops.jobs.same_name import NamedFile, namesake_warnings, same_name_errors
from seedance_ops.jobs.source_text import check_text, read_text
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.yaml_nodes import Node, parse_yaml

Job = TrainingJob | AuditJob
KINDS: dict[str, type[BaseModel]] = {"TrainingJob": TrainingJob, "Audit": AuditJob}
"""Every kind of job, by the word in ``kind:``."""


@dataclass(frozen=True)
class LoadedJob:
    """A valid job, and where each of its values came from."""

    job: Job
    source: Path
    text: str
    """The job file's own text."""
    positions: dict[str, Place]
    """Dotted path of every written value → its place, in the job file or a ``defaults.yaml``."""
    warnings: tuple[JobError, ...] = ()


@dataclass(frozen=True)
class LoadedJobs:
    """What loading several files gave: one broken file does not hide the others."""

    jobs: tuple[LoadedJob, ...]
    errors: tuple[JobError, ...]
    warnings: tuple[JobError, ...] = ()
    """Besides those of each job."""


def load_job_file(path: Path, *, project: ProjectContext | None = None) -> LoadedJob:
    """Load one file, by default in the project around it; raises ``JobErrors``."""
    return load_job_text(read_text(path), path, project=project or ProjectContext.around(path))


def load_job_text(
    text: str,
    source: Path,
    *,
    project: ProjectContext | None,
    defaults: Mapping[Path, str] | None = None,
) -> LoadedJob:
    """Load a job from its text; ``source`` names it in errors and selects its ``defaults.yaml``.

    Without a project nothing is looked up on disk: neither defaults, entrypoint nor launcher profile.
    ``defaults`` gives the text of each ``defaults.yaml``, outermost first, in place of those on disk.
    Raises ``JobErrors``.
    """
    check_text(text, source)
    files = [Source(source, text)]
    root = _mapping(parse_yaml(text, source, keep_faults=True), source)
    if defaults is None:
        defaults = {path: read_text(path) for path in project.defaults_files(source)} if project else {}
    for path, content in reversed(list(defaults.items())):
        files.append(Source(path, content))
        lower = parse_yaml(content, path, keep_faults=True)
        if lower is not None:
            root = merge(_mapping(lower, path), root)
    job, findings = _validated(root, project)
    if job is None or findings:
        raise JobErrors(locate(findings, root, files))
    return LoadedJob(
        job=job,
        source=source,
        text=text,
        positions={".".join(map(str, path)): node.place for path, node in root.walk() if path},
        warnings=tuple(locate(warn(job), root, files)) if isinstance(job, TrainingJob) else (),
    )


def load_jobs(paths: Iterable[Path], *, project: ProjectContext | None = None) -> LoadedJobs:
    """Load several files; a name that another of them has, or another of the project, is an error."""
    jobs: list[LoadedJob] = []
    errors: list[JobError] = []
    for path in paths:
        try:
            jobs.append(load_job_file(path, project=project))
        except JobErrors as broken:
            errors.extend(broken.errors)
    named = [NamedFile(job.job.metadata.name, job.source, job.positions.get("metadata.name")) for job in jobs]
    same_name = same_name_errors(named, project)
    return LoadedJobs(tuple(jobs), (*errors, *same_name), tuple(namesake_warnings(named, project)))


def defaults_errors(path: Path) -> tuple[JobError, ...]:
    """What is wrong with a ``defaults.yaml`` by itself; its values are judged with the jobs they apply to."""
    try:
        text = read_text(path)
        check_text(text, path)
        root = parse_yaml(text, path)
        if root is not None:  # only comments: nothing is set
            _mapping(root, path)
    except JobErrors as broken:
        return broken.errors
    return ()


def _mapping(root: Node | None, source: Path) -> Node:
    if root is None:
        raise JobErrors(
            [JobError("the file is empty", Place(source, 1, 1), suggestion="start with apiVersion and kind")]
        )
    if not isinstance(root.value, dict):
        raise JobErrors([JobError("a job is a mapping of keys to values", root.place)])
    return root


def _validated(root: Node, project: ProjectContext | None) -> tuple[Job | None, list[Finding]]:
    """The job, and what is wrong with it; nothing is said of stand-ins for numbers that are none."""
    faults = [Finding(path, node.fault) for path, node in root.walk() if node.fault]
    job, findings = _validated_values(root, project)
    faulty = {fault.path for fault in faults}
    return job, [*faults, *(finding for finding in findings if not _rests_on(finding, faulty))]


def _validated_values(root: Node, project: ProjectContext | None) -> tuple[Job | None, list[Finding]]:
    data = root.plain()
    assert isinstance(data, dict)
    findings = list(secret_findings(root))
    if data.get("kind") == "Audit":
        return _validated_audit(data, findings, project)
    try:
        job = from_plain(TrainingJob, data)
    except ValidationError as error:
        invalid = explain(error, TrainingJob, data)
        return None, [*findings, *invalid, *_checks_of_the_rest(data, invalid, project)]
    return job, [*findings, *check(job, project)]


def _validated_audit(
    data: dict[str, JsonValue], findings: list[Finding], project: ProjectContext | None
) -> tuple[AuditJob | None, list[Finding]]:
    try:
        job = from_plain(AuditJob, data)
    except ValidationError as error:
        return None, [*findings, *explain(error, AuditJob, data)]
    return job, [*findings, *audit_findings(job, project)]


def _checks_of_the_rest(
    data: dict[str, JsonValue], invalid: list[Finding], project: ProjectContext | None
) -> list[Finding]:
    """What the checks find in the valid part of a job, as far as it does not rest on the invalid part."""
    pruned = prune(json.loads(json.dumps(data)))
    if pruned is None:
        return []
    faulty = {finding.path for finding in invalid} | pruned.removed
    return [finding for finding in check(pruned.job, project) if not _rests_on(finding, faulty)]


def _rests_on(finding: Finding, faulty: Collection[KeyPath]) -> bool:
    """Whether a finding is about a faulty value, what surrounds it, or what was read from there."""
    return any(
        path[: len(fault)] == fault or fault[: len(path)] == path
        for path in (finding.path, *finding.reads)
        for fault in faulty
    )
