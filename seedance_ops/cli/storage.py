"""``seedance storage``: the embedded object store."""

from __future__ import annotations

import typer

from seedance_ops.cli.output import JsonOption, print_json

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Start, stop and find the embedded object store."
)


@app.command()
def up(*, as_json: JsonOption = False) -> None:
    """Start the store, or find the one that runs, and say how to reach it. Keys stay in its own file."""
    from seedance_ops.storage.server import EmbeddedStore, EmbeddedStoreError, home_from_environment

    home = home_from_environment()
    try:
        record = EmbeddedStore(home).up()
    except EmbeddedStoreError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    if as_json:
        print_json({"endpoint_url": record.endpoint_url, "pid": record.pid, "home": str(home)})
    else:
        typer.echo(
            f"{record.endpoint_url} (pid {record.pid}); to use it from a shell: eval $(seedance storage env)"
        )


@app.command()
def down() -> None:
    """Stop the store; data stay."""
    from seedance_ops.storage.server import EmbeddedStore, home_from_environment

    stopped = EmbeddedStore(home_from_environment()).down()
    typer.echo("stopped" if stopped else "no store was running")


@app.command()
def status() -> None:
    """Say whether the store runs; exit code 1 where it does not."""
    from seedance_ops.storage.server import EmbeddedStore, home_from_environment

    record = EmbeddedStore(home_from_environment()).running()
    typer.echo(f"running at {record.endpoint_url} (pid {record.pid})" if record else "not running")
    raise typer.Exit(0 if record else 1)


@app.command()
def env() -> None:
    """Print shell exports with the keys, for eval; do not paste them into a log."""
    import shlex

    from seedance_ops.storage.server import EmbeddedStore, home_from_environment

    record = EmbeddedStore(home_from_environment()).running()
    if record is None:
        typer.echo("error: no store is running; start one with: seedance storage up", err=True)
        raise typer.Exit(1)
    for name, value in record.environment().items():
        typer.echo(f"export {name}={shlex.quote(value)}")
