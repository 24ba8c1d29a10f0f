"""Change a job for one run: the trigger form's values, and ``--set PATH=VALUE``."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue, ValidationError

from seedance_ops.jobs.check_secrets import secret_findings
from seedance_ops.jobs.checks import check
from seedance_ops.jobs.dotted import DottedPathError, set_value
from seedance_ops.jobs.errors import JobError, JobErrors, Place
from seedance_ops.jobs.explain import explain
from seedance_ops.jobs.findings import Finding, dotted, listed, nearest
from seedance_ops.jobs.plain import from_plain
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.yaml_nodes import Node, parse_yaml


def apply_overrides(
    job: TrainingJob, overrides: Mapping[str, JsonValue], *, project: ProjectContext | None = None
) -> TrainingJob:
    """The job with other values at some of the paths in its ``params``.

    Without a project nothing is looked up on disk, as in ``load_job_text``. Raises ``JobErrors``: for a path
    that ``params`` does not list, and for a job that is no longer valid.
    """
    refused = [
        JobError(
            "this job's params do not offer it",
            path=path,
            allowed=listed(job.params) or "nothing: params is empty",
            suggestion=nearest(path, job.params),
        )
        for path in overrides
        if path not in job.params
    ]
    if refused:
        raise JobErrors(refused)
    data = job.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for path, value in overrides.items():
        try:
            set_value(data, path, copy.deepcopy(value))
        except DottedPathError as error:
            raise JobErrors([JobError(str(error), path=path)]) from None
    if "phases.confirm.seeds" in overrides:
        data.get("repeats", {}).pop("seeds", None)  # it follows, as in a job's file
    secrets = list(secret_findings(Node.of_plain(data, Place(Path("params"), 1, 1))))
    if secrets:
        raise _errors(secrets)
    try:
        changed = from_plain(TrainingJob, data)
    except ValidationError as error:
        raise _errors(explain(error, TrainingJob, data)) from None
    except ValueError as error:  # NaN, or a value that JSON cannot hold
        raise JobErrors([JobError(f"not a value: {error}")]) from None
    findings = check(changed, project)
    if findings:
        raise _errors(findings)
    return changed


def parse_override(option: str) -> tuple[str, JsonValue]:
    """``workload.stop.samples=800`` as path and value, the value read as YAML; raises ``JobErrors``."""
    path, equals, text = option.partition("=")
    path = path.strip()
    if not equals or not path:
        raise JobErrors([JobError("not of the form PATH=VALUE", value=option[:80])])
    node = parse_yaml(text, Path(f"--set {path}"))
    return path, node.plain() if node else None


def _errors(findings: list[Finding]) -> JobErrors:
    return JobErrors(
        JobError(
            finding.message, path=dotted(finding.path), allowed=finding.allowed, suggestion=finding.suggestion
        )
        for finding in findings
    )
