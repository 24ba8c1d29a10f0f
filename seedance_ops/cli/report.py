"""``seedance report RUN``: a finished run's report as a page, as data, or as a pull-request comment."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seedance_ops.cli.finished_run import FinishedRun
    from seedance_ops.reporting.report_model import Report

app = typer.Typer(add_completion=False)


class Format(StrEnum):
    """What is written."""

    html = "html"
    json = "json"
    markdown = "markdown"


_SUFFIXES = {".html": Format.html, ".json": Format.json, ".md": Format.markdown}


@app.command()
def report(
    run: Annotated[
        str | None, typer.Argument(help="JOB/RUN_ID, or JOB for its newest run.", show_default=False)
    ] = None,
    *,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Default: by the suffix of --output, else html.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write here instead of printing.", show_default=False)
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="From the run's tables, not the report it left.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of report.json instead.")
    ] = False,
) -> None:
    """Print RUN's report. Nothing is trained, and nothing in the store changes.

    Taken from the report.json that the run left; where there is none, or another version wrote it, from the
    run's tables. Exit code 0: accepted; 1: not accepted; 2: there is no such run, or nothing to report of it.
    """
    if schema:
        from seedance_ops.reporting.report_schema import report_schema_text

        _deliver(report_schema_text(), output)
        return
    if run is None:
        typer.echo("error: name a run: JOB/RUN_ID, or JOB for its newest", err=True)
        raise typer.Exit(2)
    found = finished_report(run, rebuild=rebuild)
    chosen = form or (_SUFFIXES.get(output.suffix) if output else None) or Format.html
    _deliver(_rendered(found, chosen), output)
    raise typer.Exit(0 if found.accepted else 1)


def finished_report(run: str, *, rebuild: bool = False) -> Report:
    """The report of a run in the object store; ends the command with 2 where there is none."""
    return reports_of(run, rebuild=rebuild)[0][1]


def reports_of(*names: str, rebuild: bool = False) -> list[tuple[FinishedRun, Report]]:
    """Several runs with their reports; ends the command with 2 where one has none."""
    from pydantic import ValidationError

    from seedance_ops.cli.finished_run import RunNotFound, find_run, object_store
    from seedance_ops.cost.catalogue import PriceMissing
    from seedance_ops.cost.errors import CostError
    from seedance_ops.storage.errors import StorageError
    from seedance_ops.storage.server import EmbeddedStoreError

    try:
        with object_store() as base:
            runs = [find_run(base, name) for name in names]
            return [(found, _report_of(found, rebuild=rebuild)) for found in runs]
    except ValidationError:
        typer.echo("error: not the run of a TrainingJob of this version", err=True)
    except (RunNotFound, PriceMissing, CostError, StorageError, EmbeddedStoreError) as error:
        typer.echo(f"error: {error}", err=True)
    raise typer.Exit(2)


def _report_of(found: FinishedRun, *, rebuild: bool) -> Report:
    from pydantic import ValidationError

    from seedance_ops.reporting.judge_again import judge_again
    from seedance_ops.reporting.report_model import Report
    from seedance_ops.storage.errors import ObjectMissing

    if not rebuild:
        try:
            return found.store.read("report.json", Report)
        except (ObjectMissing, ValidationError):
            typer.echo("note: built anew from the run's tables: it left no report of this version", err=True)
    return judge_again(found.store, found.manifest)


def _rendered(report: Report, form: Format) -> str:
    from seedance_ops.reporting.html import render_html
    from seedance_ops.reporting.markdown import render_markdown

    match form:
        case Format.html:
            return render_html(report)
        case Format.json:
            return report.as_json() + "\n"
        case Format.markdown:
            return render_markdown(report)


def _deliver(text: str, output: Path | None) -> None:
    from seedance_ops.whole_file import write_whole

    if output is None:
        typer.echo(text, nl=False)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(output, text)
    typer.echo(f"Written: {output}", err=True)
