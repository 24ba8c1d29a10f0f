"""``seedance run``: one run of a job through Airflow, from trigger to verdict, in a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pydantic import JsonValue

    from seedance_ops.jobs.loader import Job
    from seedance_ops.jobs.project import ProjectContext

app = typer.Typer(add_completion=False)

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change one of the job's params for this run."),
]


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="The job's YAML file.")],
    *,
    overrides: SetOption = None,
) -> None:
    """Run FILE through Airflow and print the verdict.

    Uses the Airflow that runs in AIRFLOW_HOME, else starts one for this run. Exit code 0: the run succeeded;
    1: it failed or was not accepted; 2: the job or an option is not valid; 130: interrupted, and every job it
    had launched is cancelled.
    """
    from seedance_ops.jobs.errors import JobErrors
    from seedance_ops.jobs.loader import load_job_file
    from seedance_ops.jobs.overrides import parse_override
    from seedance_ops.jobs.project import ProjectContext

    project = ProjectContext.around(file)
    try:
        if project is None:
            typer.echo(f"error: no include/jobs above {file} or here: not in a project", err=True)
            raise typer.Exit(2)
        loaded = load_job_file(file, project=project)
        conf = dict(parse_override(option) for option in overrides or [])
        job = _changed(loaded.job, conf, project)
    except JobErrors as errors:
        typer.echo(f"error: {errors.render()}", err=True)
        raise typer.Exit(2) from None
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning.render()}", err=True)

    from seedance_ops.cli.run_session import RunSession

    home = airflow_home(project.root)
    os.environ["AIRFLOW_HOME"] = str(home)
    raise typer.Exit(RunSession(home, project, file, job).run(conf, interactive=sys.stdout.isatty()))


def _changed(job: Job, conf: dict[str, JsonValue], project: ProjectContext) -> Job:
    from seedance_ops.jobs.errors import JobError, JobErrors
    from seedance_ops.jobs.overrides import apply_overrides

    if not conf:
        return job
    if job.kind == "Audit":
        raise JobErrors([JobError("an audit has no params to set", path=next(iter(conf)))])
    return apply_overrides(job, conf, project=project)


def airflow_home(project: Path) -> Path:
    """``AIRFLOW_HOME``, or the one inside the project."""
    return Path(os.environ.get("AIRFLOW_HOME") or project / ".airflow").absolute()
