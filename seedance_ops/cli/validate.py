"""``seedance validate FILE…``: every error of every file, exit code 0 or 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedance_ops.cli.output import JsonOption, print_json

if TYPE_CHECKING:
    from seedance_ops.jobs.errors import JobError
    from seedance_ops.jobs.loader import Job

app = typer.Typer(add_completion=False)


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(help="Job files.", show_default=False)],
    *,
    as_json: JsonOption = False,
) -> None:
    """Check job files; prints every error with its place, and exits 1 if there is one."""
    from seedance_ops.cli.price_keys import check_price_keys
    from seedance_ops.jobs.loader import load_jobs

    others = {file: found for file in files if (found := _other_than_a_job(file)) is not None}
    loaded = load_jobs(file for file in files if file not in others)
    priced = {job.source: check_price_keys(job) for job in loaded.jobs}
    errors = (
        *(error for _, faults in others.values() for error in faults),
        *loaded.errors,
        *(error for found in priced.values() for error in found.errors),
    )
    warnings = [
        *(warning for job in loaded.jobs for warning in job.warnings),
        *loaded.warnings,
        *(warning for found in priced.values() for warning in found.warnings),
    ]
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
        broken |= {source for source, found in priced.items() if found.errors}  # by a defaults.yaml too
        for job in loaded.jobs:
            if job.source not in broken:
                typer.echo(f"{job.source}: valid ({_size(job.job)})")
        for file, (what, faults) in others.items():
            if not faults:
                typer.echo(f"{file}: valid {what}")
    raise typer.Exit(1 if errors else 0)


def _other_than_a_job(file: Path) -> tuple[str, tuple[JobError, ...]] | None:
    """What a file that is no job is, and its errors."""
    from seedance_ops.jobs.loader import defaults_errors
    from seedance_ops.jobs.project import DEFAULTS_FILE
    from seedance_ops.jobs.published_file import is_published_file, load_published
    from seedance_ops.jobs.source_text import read_text
    from seedance_ops.quality.suite_files import is_expectation_file, load_suite_text

    # So that `validate include/jobs/*.yaml` works: defaults are judged with the jobs they apply to.
    if file.name == DEFAULTS_FILE:
        return "YAML; its values are checked with the jobs they apply to", tuple(defaults_errors(file))
    if is_expectation_file(file):
        return "(data expectations)", _errors_of(lambda: load_suite_text(read_text(file), file))
    if is_published_file(file):
        return "(published figures)", _errors_of(lambda: load_published(file))
    return None


def _errors_of(load: Callable[[], object]) -> tuple[JobError, ...]:
    from seedance_ops.jobs.errors import JobErrors

    try:
        load()
    except JobErrors as broken:
        return broken.errors
    return ()


def _size(job: Job) -> str:
    if job.kind == "Audit":
        return f"audit of {job.published}"
    variants, seeds = len(job.variants), job.repeats.seeds
    return f"{variants} variant{'s' * (variants != 1)} × {seeds} seed{'s' * (seeds != 1)}"
