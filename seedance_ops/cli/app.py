"""Find the module of the command that was asked for; import no other."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

COMMANDS = {
    "validate": "seedance_ops.cli.validate",
    "schema": "seedance_ops.cli.schema",
    "list": "seedance_ops.cli.list_jobs",
    "show": "seedance_ops.cli.show",
    "estimate": "seedance_ops.cli.estimate",
    "run": "seedance_ops.cli.run",
    "pareto": "seedance_ops.cli.pareto",
    "judge": "seedance_ops.cli.judge",
    "report": "seedance_ops.cli.report",
    "diff": "seedance_ops.cli.diff",
    "promote": "seedance_ops.cli.promote",
    "ledger": "seedance_ops.cli.ledger",
    "drift": "seedance_ops.cli.drift",
    "up": "seedance_ops.cli.up",
    "checkpoint": "seedance_ops.cli.checkpoint.app",
    "storage": "seedance_ops.cli.storage",
    "prices": "seedance_ops.cli.prices",
    "netlab": "seedance_ops.cli.netlab",
}
"""Command → its module. Each module has ``app``, a ``typer.Typer`` with one command or several."""


class LazyCommands(TyperGroup):
    """A group whose commands are imported when they are used, so that none pays for another."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every command, in the order of ``COMMANDS``."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, or ``None`` for an unknown name."""
        del ctx
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = typer.main.get_command(importlib.import_module(module).app)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Make GPU training cheaper, and prove it.",
)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer's callback
    if asked:
        from importlib.metadata import version

        typer.echo(f"seedance {version('seedance-ops')}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Make GPU training cheaper, and prove it."""
    del version


def main() -> None:
    """Entry point of ``seedance``."""
    app(prog_name="seedance")
