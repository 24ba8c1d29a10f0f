"""What commands have in common when they print."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_json(data: Any) -> None:
    """JSON on standard output, indented, in the order given."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
