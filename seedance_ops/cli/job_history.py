"""Looks up the earlier runs of jobs that are given as files, for commands that estimate from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from seedance_ops.planning.history import HistoryRecord


def histories_of(jobs: Iterable[str]) -> dict[str, list[HistoryRecord]]:
    """Earlier runs by job: none where nothing was ever stored; where the store is away, that is said."""
    from seedance_ops.cli.finished_run import nothing_stored, object_store
    from seedance_ops.planning.history import History
    from seedance_ops.storage.errors import BucketMissing, StorageError
    from seedance_ops.storage.server import EmbeddedStoreError

    names = tuple(dict.fromkeys(jobs))
    none: dict[str, list[HistoryRecord]] = {name: [] for name in names}
    try:
        if nothing_stored():
            return none
        with object_store() as base:
            return {name: History(base, name).records() for name in names}
    except BucketMissing:
        return none  # the first run makes it
    except (StorageError, EmbeddedStoreError) as error:
        typer.echo(f"warning: estimated without earlier runs, which cannot be read: {error}", err=True)
        return none
