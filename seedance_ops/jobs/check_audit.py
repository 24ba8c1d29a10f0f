"""Whether an audit's file of published figures is there, inside the project, and valid."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.jobs.audit_job import AuditJob
from seedance_ops.jobs.check_schedule import schedule_findings
from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.findings import Finding
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.published_file import load_published


def audit_findings(job: AuditJob, project: ProjectContext | None) -> Iterator[Finding]:
    """The faults of an audit; without a project its file is not looked for."""
    yield from schedule_findings(job.schedule)
    if project is None:
        return
    path = (project.root / job.published).resolve()
    if not path.is_relative_to(project.root.resolve()):
        yield Finding(("published",), "it lies outside the project", "a path below the project's root")
    elif not path.is_file():
        yield Finding(("published",), f"there is no file {path}", "a file of include/published")
    else:
        try:
            load_published(path)
        except JobErrors as broken:
            for error in broken.errors:
                yield Finding(("published",), f"the file is not valid: {error.render()}")
