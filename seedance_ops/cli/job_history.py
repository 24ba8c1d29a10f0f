"""Looks up the earlier runs of jobs that are given as files, for commands that estimate from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from seedance_ops.planning.history import HistoryRecord


def histories_of(jobs: Iterable[str]) -> dict[str, list[HistoryRecord]]:
    """Earlier runs by job; without a store to look in there are none, which is said and is no error."""
    from seedance_ops.cli.finished_run import object_store
    from seedance_ops.planning.history import History
    from seedance_ops.storage.errors import StorageError
    from seedance_ops.storage.server import EmbeddedStoreError

    names = tuple(dict.fromkeys(jobs))
    try:
        with object_store() as base:
            return {name: History(base, name).records() for name in names}
    except (StorageError, EmbeddedStoreError) as error:
        typer.echo(f"warning: no history: {error}", err=True)
        return {name: [] for name in names}
