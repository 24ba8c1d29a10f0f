"""Loads the training job that a command was given, or ends the command with every error of the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from seedance_ops.jobs.errors import JobError, JobErrors
from seedance_ops.jobs.loader import load_job_file
from seedance_ops.jobs.overrides import apply_overrides, parse_override
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.training_job import TrainingJob


def load_job_or_exit(
    file: Path, overrides: Sequence[str] | None = None
) -> tuple[TrainingJob, ProjectContext]:
    """The job with its ``--set`` options, and its project; exits with 2 where either is not valid."""
    project = ProjectContext.around(file)
    if project is None:
        typer.echo(f"error: no include/jobs above {file} or here: not in a project", err=True)
        raise typer.Exit(2)
    try:
        job = _training_job(file, project)
        conf = dict(parse_override(option) for option in overrides or ())
        return (apply_overrides(job, conf, project=project) if conf else job), project
    except JobErrors as errors:
        typer.echo(f"error: {errors.render()}", err=True)
        raise typer.Exit(2) from None


def _training_job(file: Path, project: ProjectContext) -> TrainingJob:
    job = load_job_file(file, project=project).job
    if not isinstance(job, TrainingJob):
        raise JobErrors([JobError(f"{file}: this needs a TrainingJob", path="kind", value=job.kind)])
    return job
