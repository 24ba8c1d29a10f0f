"""``seedance schema KIND``: the JSON Schema of what a user writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def schema(
    kind: Annotated[
        str | None,
        typer.Argument(help="TrainingJob, Audit, LauncherCatalog or PublishedFigures.", show_default=False),
    ] = None,
    *,
    write: Annotated[
        Path | None,
        typer.Option(help="Write every kind's schema into this folder instead.", show_default=False),
    ] = None,
) -> None:
    """Print a kind's JSON Schema (draft 2020-12)."""
    from seedance_ops.jobs.findings import nearest
    from seedance_ops.jobs.json_schema import SCHEMA_MODELS, schema_text, write_schemas

    if write is not None:
        for file in write_schemas(write):
            typer.echo(str(file))
    elif kind in SCHEMA_MODELS:
        typer.echo(schema_text(kind), nl=False)
    else:
        by_lower = {name.lower(): name for name in SCHEMA_MODELS}
        near = nearest(kind, by_lower) if kind else None
        hint = f"; did you mean {by_lower[near]}?" if near else ""
        asked = f"unknown kind {kind}" if kind else "no kind given"
        typer.echo(f"error: {asked}; kinds: {', '.join(SCHEMA_MODELS)}{hint}", err=True)
        raise typer.Exit(1)
