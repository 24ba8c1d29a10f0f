"""``seedance validate FILE…``: every error of every file, exit code 0 or 1."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seedance_ops.cli.output import JsonOption, print_json

app = typer.Typer(add_completion=False)


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(help="Job files.", show_default=False)],
    *,
    as_json: JsonOption = False,
) -> None:
    """Check job files; prints every error with its place, and exits 1 if there is one."""
    from seedance_ops.jobs.loader import defaults_errors, load_jobs
    from seedance_ops.jobs.project import DEFAULTS_FILE

    # So that `validate include/jobs/*.yaml` works: defaults are judged with the jobs they apply to.
    defaults = [file for file in files if file.name == DEFAULTS_FILE]
    loaded = load_jobs(file for file in files if file.name != DEFAULTS_FILE)
    errors = (*(error for file in defaults for error in defaults_errors(file)), *loaded.errors)
    warnings = [*(warning for job in loaded.jobs for warning in job.warnings), *loaded.warnings]
    if as_json:
        print_json(
            {
                "valid": not errors,
                "jobs": [{"name": job.job.metadata.name, "file": str(job.source)} for job in loaded.jobs],
                "errors": [error.to_json() for error in errors],
                "warnings": [warning.to_json() for warning in warnings],
            }
        )
    else:
        for warning in warnings:
            typer.echo(f"warning: {warning.render()}", err=True)
        for error in errors:
            typer.echo(f"error: {error.render()}", err=True)
        broken = {error.place.source for error in errors if error.place}
        for job in loaded.jobs:
            if job.source not in broken:
                typer.echo(f"{job.source}: valid ({_size(len(job.job.variants), job.job.repeats.seeds)})")
        for file in defaults:
            if file not in broken:
                typer.echo(f"{file}: valid YAML; its values are checked with the jobs they apply to")
    raise typer.Exit(1 if errors else 0)


def _size(variants: int, seeds: int) -> str:
    return f"{variants} variant{'s' * (variants != 1)} × {seeds} seed{'s' * (seeds != 1)}"
