"""``seedance promote RUN``: the job's file with the accepted winner as its new baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def promote(
    run: Annotated[str, typer.Argument(help="JOB/RUN_ID, or JOB for its newest run.", show_default=False)],
    *,
    variant: Annotated[
        str | None,
        typer.Option(help="Which accepted variant; default: the cheapest.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write here instead of printing.", show_default=False)
    ] = None,
    drop_previous: Annotated[
        bool, typer.Option("--drop-previous", help="Do not keep the old baseline as previous-baseline.")
    ] = False,
) -> None:
    """Print the YAML of RUN's job with its accepted winner as baseline. Changes nothing by itself.

    Exit code 1: nothing was accepted, or not that variant; 2: there is no such run.
    """
    from seedance_ops.cli.report import reports_of
    from seedance_ops.reporting.promotion import NotPromotable, winner_of
    from seedance_ops.reporting.promotion import promote as promoted
    from seedance_ops.whole_file import write_whole

    found, report = reports_of(run)[0]
    try:
        winner = winner_of(report, variant)
        made = promoted(found.manifest.job, report, winner, keep_previous=not drop_previous)
    except NotPromotable as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    for note in made.notes:
        typer.echo(f"note: {note}", err=True)
    if output is None:
        typer.echo(made.yaml, nl=False)
        return
    write_whole(output, made.yaml)
    typer.echo(f"{winner} is the baseline of {output}", err=True)
