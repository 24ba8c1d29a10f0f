"""``seedance checkpoint``: the group and its commands."""

from __future__ import annotations

import typer

from seedance_ops.cli.checkpoint.export import export
from seedance_ops.cli.checkpoint.gc import gc
from seedance_ops.cli.checkpoint.ls import ls
from seedance_ops.cli.checkpoint.pull import pull
from seedance_ops.cli.checkpoint.restore import restore
from seedance_ops.cli.checkpoint.verify import verify

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="List, verify, download, export and clean up checkpoints.",
)
for command in (ls, verify, pull, export, restore, gc):
    app.command()(command)
