"""``seedance drift JOB``: changes of cost and quality over a job's accepted runs, and their causes."""

from __future__ import annotations

from typing import Annotated

import typer

from seedance_ops.cli.output import JsonOption, print_json

app = typer.Typer(add_completion=False)


@app.command()
def drift(
    job: Annotated[str, typer.Argument(help="The job's name.", show_default=False)],
    *,
    as_json: JsonOption = False,
) -> None:
    """Print every change of level in JOB's history, with candidates for its cause, likeliest first.

    Exit code 0: the history was looked at, whatever was found; 2: the job has none, or the store
    does not answer.
    """
    from seedance_ops.cli.finished_run import object_store
    from seedance_ops.planning.drift import drift_of
    from seedance_ops.planning.history import History
    from seedance_ops.stats.outcomes import NotJudgeable
    from seedance_ops.storage.errors import StorageError
    from seedance_ops.storage.server import EmbeddedStoreError

    try:
        with object_store() as base:
            report = drift_of(job, History(base, job).records())
    except (StorageError, EmbeddedStoreError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    if not report.runs and not report.series:
        typer.echo(f"error: job {job} has no judged run in {base.uri}", err=True)
        raise typer.Exit(2)
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    typer.echo(f"{job}: {report.runs} accepted runs")
    for series in report.series:
        if isinstance(series.drifts, NotJudgeable):
            typer.echo(f"{series.variant} {series.metric}: not judgeable: {series.drifts.reason}")
        elif not series.drifts:
            typer.echo(f"{series.variant} {series.metric}: no change of level in {series.runs} runs")
    for series, found in report.findings:
        typer.echo(report.sentence(series, found))
        for cause in found.causes[1:]:
            typer.echo(f"  or {cause.what}: {cause.before} to {cause.after} (score {cause.score:.2g})")
