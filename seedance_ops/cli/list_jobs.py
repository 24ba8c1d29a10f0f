"""``seedance list``: the project's jobs."""

from __future__ import annotations

from pathlib import Path

import typer
from pydantic import JsonValue

from seedance_ops.cli.output import JsonOption, print_json
from seedance_ops.jobs.loader import Job, LoadedJob

app = typer.Typer(add_completion=False)
_COLUMNS = ("name", "kind", "schedule", "runs", "owner", "file")


@app.command("list")
def list_jobs(*, as_json: JsonOption = False) -> None:
    """List the jobs in include/jobs; a broken file is reported and fails the command."""
    from seedance_ops.jobs.loader import load_jobs
    from seedance_ops.jobs.project import PROJECT_VARIABLE, ProjectContext

    project = ProjectContext.discover(Path.cwd())
    if project is None:
        typer.echo(
            f"error: no include/jobs here or above; set {PROJECT_VARIABLE} to the project's root", err=True
        )
        raise typer.Exit(1)
    loaded = load_jobs(project.job_files(), project=project)
    rows = [_row(job, project.root) for job in loaded.jobs]
    if as_json:
        print_json({"jobs": rows, "errors": [error.to_json() for error in loaded.errors]})
    else:
        _print_table(rows)
        for error in loaded.errors:
            typer.echo(f"error: {error.render()}", err=True)
    raise typer.Exit(1 if loaded.errors else 0)


def _row(loaded: LoadedJob, root: Path) -> dict[str, JsonValue]:
    job = loaded.job
    source = loaded.source
    return {
        "name": job.metadata.name,
        "kind": job.kind,
        "schedule": f"{job.schedule.cron} {job.schedule.timezone}" if job.schedule else None,
        **_size(job),
        "owner": job.metadata.owner,
        "file": str(source.relative_to(root) if source.is_relative_to(root) else source),
    }


def _size(job: Job) -> dict[str, JsonValue]:
    if job.kind == "Audit":
        return {"runs": None}
    variants, seeds = len(job.variants), job.repeats.seeds
    return {"variants": variants, "seeds": seeds, "runs": f"{variants}×{seeds}"}


def _print_table(rows: list[dict[str, JsonValue]]) -> None:
    cells = [list(_COLUMNS), *([str(row[column] or "-") for column in _COLUMNS] for row in rows)]
    widths = [max(len(line[index]) for line in cells) for index in range(len(_COLUMNS))]
    for line in cells:
        typer.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())
