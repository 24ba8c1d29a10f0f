"""``seedance report RUN``: a finished run's report as a page, as data, or as a pull-request comment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seedance_ops.cli.finished_audit import FinishedAudit
    from seedance_ops.cli.finished_run import FinishedRun
    from seedance_ops.reporting.audit_report import AuditReport
    from seedance_ops.reporting.report_model import Report
    from seedance_ops.storage.config import StorageLocation

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
    """Print RUN's report, also of an audit. Nothing is trained, and nothing in the store changes.

    Taken from the report.json that the run left; where there is none, or another version wrote it, from the
    run's tables (an audit's: from its figures). Exit code 0: accepted; 1: not accepted; 2: there is no such
    run, nothing to report of it, or the suffix of --output is of no format.
    """
    if schema:
        from seedance_ops.reporting.report_schema import report_schema_text

        _deliver(report_schema_text(), output)
        return
    if run is None:
        typer.echo("error: name a run: JOB/RUN_ID, or JOB for its newest", err=True)
        raise typer.Exit(2)
    chosen = form or _form_of(output)
    text, accepted = _finished(run, chosen, rebuild=rebuild)
    _deliver(text, output)
    raise typer.Exit(0 if accepted else 1)


def _form_of(output: Path | None) -> Format:
    """By the file's suffix, html where it has none; ends the command with 2 for a suffix of no format."""
    if output is None or not output.suffix:
        return Format.html
    if (form := _SUFFIXES.get(output.suffix.lower())) is None:
        known = ", ".join(_SUFFIXES)
        typer.echo(f"error: {output}: the suffix must be one of {known}; or say --format", err=True)
        raise typer.Exit(2)
    return form


def reports_of(*names: str, rebuild: bool = False) -> list[tuple[FinishedRun, Report]]:
    """Several runs with their reports; ends the command with 2 where one has none."""
    from seedance_ops.cli.finished_run import find_run
    from seedance_ops.cli.run_state import REPORT

    with _store("TrainingJob") as base:
        runs = [find_run(base, name, REPORT) for name in names]
        return [(found, _report_of(found, rebuild=rebuild)) for found in runs]


def _finished(run: str, form: Format, *, rebuild: bool) -> tuple[str, bool]:
    """The report of a run, of whichever kind, and whether it was accepted."""
    from seedance_ops.cli.finished_audit import find_audit
    from seedance_ops.cli.finished_run import find_run
    from seedance_ops.cli.run_state import REPORT, TABLES

    with _store("TrainingJob or Audit") as base:
        if (found := find_audit(base, run)) is not None:
            audited = _audit_report(found, rebuild=rebuild)
            return _rendered_audit(audited, form), audited.verdict is not None and audited.verdict.accepted
        report = _report_of(find_run(base, run, TABLES if rebuild else REPORT), rebuild=rebuild)
        return _rendered(report, form), report.accepted


def _audit_report(found: FinishedAudit, *, rebuild: bool) -> AuditReport:
    from seedance_ops.cli.finished_audit import audit_report_of
    from seedance_ops.cli.finished_run import RunNotFound
    from seedance_ops.storage.errors import ObjectMissing

    try:
        return audit_report_of(found, rebuild=rebuild)
    except ObjectMissing:
        audit = found.manifest
        raise RunNotFound(
            f"run {audit.run_id} of audit {audit.job.metadata.name} does not have its figures yet: either it "
            "is still running, then wait for its end; or it was ended before, then run it again"
        ) from None


@contextmanager
def _store(kind: str) -> Iterator[StorageLocation]:
    """The base of all jobs; whatever is missing there ends the command with 2."""
    from pydantic import ValidationError

    from seedance_ops.cli.finished_run import RunNotFound, object_store
    from seedance_ops.cost.catalogue import PriceMissing
    from seedance_ops.cost.errors import CostError
    from seedance_ops.jobs.errors import JobErrors
    from seedance_ops.storage.errors import StorageError
    from seedance_ops.storage.server import EmbeddedStoreError

    try:
        with object_store() as base:
            yield base
    except ValidationError:
        typer.echo(f"error: not the run of a {kind} of this version", err=True)
        raise typer.Exit(2) from None
    except (RunNotFound, PriceMissing, CostError, JobErrors, StorageError, EmbeddedStoreError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None


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


def _rendered_audit(report: AuditReport, form: Format) -> str:
    from seedance_ops.reporting.audit_markdown import render_audit_markdown
    from seedance_ops.reporting.audit_report import render_audit_html

    match form:
        case Format.html:
            return render_audit_html(report)
        case Format.json:
            return report.model_dump_json(indent=2) + "\n"
        case Format.markdown:
            return render_audit_markdown(report)


def _deliver(text: str, output: Path | None) -> None:
    from seedance_ops.whole_file import write_whole

    if output is None:
        typer.echo(text, nl=False)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(output, text)
    typer.echo(f"Written: {output}", err=True)
