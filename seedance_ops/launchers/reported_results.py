"""Brings what a ``runtime: none`` job reported to where a session would have written it itself."""

from __future__ import annotations

import time
from collections.abc import Callable

from seedance_ops.launchers.base import LaunchSpec
from seedance_ops.launchers.workspace import Workspace
from seedance_ops.storage.errors import StoreUnreachable

_PATIENCE_S = 120.0
"""How long a store that is away is waited for: the work is done and paid."""
_BETWEEN_LOOKS_S = 2.0


def upload_results(workspace: Workspace, spec: LaunchSpec, given_up: Callable[[], bool]) -> None:
    """Store the job's metrics file, if it wrote one.

    Args:
        workspace: Of the job.
        spec: Its plan says where results go.
        given_up: Whether somebody asked meanwhile that the job end; looked at every few seconds.

    Raises:
        StorageError: The store refused, or was away for more than two minutes.
    """
    if not workspace.metrics_file.exists():
        return
    from seedance_ops.storage.client import ObjectStore

    store = ObjectStore(spec.plan.storage, patience_s=_BETWEEN_LOOKS_S)
    key = f"evaluations/submission-{spec.plan.submission:03d}/metrics.jsonl"
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            store.put(key, workspace.metrics_file.read_bytes())
        except StoreUnreachable:
            if given_up() or time.monotonic() > deadline:
                raise
        else:
            return
