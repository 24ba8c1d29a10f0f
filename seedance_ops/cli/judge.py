"""``seedance judge RUN``: gates and prices of a finished run evaluated anew, without training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seedance_ops.cost.catalogue import PriceCatalogue
    from seedance_ops.jobs.training_job import TrainingJob

app = typer.Typer(add_completion=False)


@app.command()
def judge(
    run: Annotated[str, typer.Argument(help="JOB/RUN_ID, or JOB for its newest run.", show_default=False)],
    *,
    job: Annotated[
        Path | None,
        typer.Option("--job", help="Take gates and economics from this file.", show_default=False),
    ] = None,
    reprice: Annotated[
        bool, typer.Option("--reprice", help="By today's catalogue, not by the run's own prices.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="Write report.html and report.json here.", show_default=False),
    ] = None,
) -> None:
    """Judge RUN again. Nothing is trained, and nothing in the store changes.

    Exit code 0: accepted; 1: not accepted; 2: there is no such run, or an option is not valid.
    """
    from rich.console import Console

    from seedance_ops.cli.finished_run import RunNotFound, find_run, object_store
    from seedance_ops.cli.job_file import load_job_or_exit
    from seedance_ops.cli.result import print_verdicts
    from seedance_ops.cli.run_state import TABLES
    from seedance_ops.cost.catalogue import CatalogueError, PriceMissing
    from seedance_ops.reporting.html import render_html
    from seedance_ops.reporting.judge_again import DifferentRuns, judge_again
    from seedance_ops.storage.errors import StorageError
    from seedance_ops.storage.server import EmbeddedStoreError
    from seedance_ops.whole_file import write_whole

    changed: TrainingJob | None = load_job_or_exit(job)[0] if job else None
    try:
        with object_store() as base:
            found = find_run(base, run, TABLES)
            prices = _prices_today(found.manifest.source) if reprice else None
            report = judge_again(found.store, found.manifest, job=changed, catalogue=prices)
    except (
        *(RunNotFound, DifferentRuns, CatalogueError, PriceMissing),
        *(StorageError, EmbeddedStoreError),
    ) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    print_verdicts(Console(), report.as_json())
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write_whole(output / "report.html", render_html(report))
        write_whole(output / "report.json", report.as_json())
        typer.echo(f"Report: {output / 'report.html'}")
    raise typer.Exit(0 if report.accepted else 1)


def _prices_today(source: str) -> PriceCatalogue:
    from seedance_ops.cost.catalogue import PriceMissing
    from seedance_ops.jobs.catalog import price_catalogue
    from seedance_ops.jobs.project import ProjectContext

    project = ProjectContext.around(Path(source))
    if project is None:
        raise PriceMissing("no price catalogue here: --reprice works inside the project")
    return price_catalogue(project)
