"""``seedance show FILE``: the merged job, and where each of its values comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seedance_ops.cli.output import JsonOption, print_json

app = typer.Typer(add_completion=False)


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="Job file.", show_default=False)],
    *,
    as_json: JsonOption = False,
) -> None:
    """Print a job merged with its defaults.yaml, every value with the origin it came from."""
    from seedance_ops.jobs.errors import JobErrors
    from seedance_ops.jobs.loader import load_job_file
    from seedance_ops.jobs.origins import annotated_yaml, merged_values, origins

    try:
        loaded = load_job_file(file)
    except JobErrors as broken:
        if as_json:
            print_json({"errors": broken.to_json()})
        else:
            for error in broken.errors:
                typer.echo(f"error: {error.render()}", err=True)
        raise typer.Exit(1) from None
    base = Path.cwd()
    if as_json:
        print_json({"job": merged_values(loaded), "origins": origins(loaded, base)})
    else:
        typer.echo(annotated_yaml(loaded, base))
