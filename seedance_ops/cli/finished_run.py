"""Finds a finished run in the object store from a terminal: ``JOB/RUN_ID``, or ``JOB`` for its newest run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from seedance_ops.cli.run_state import Needs, airflow_state, state_of
from seedance_ops.jobs.manifest import RESERVED, RunManifest
from seedance_ops.jobs.names import NAME_PATTERN, NAME_RULE
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.storage.config import DEFAULT_URI, URI_VARIABLE, StorageLocation


class RunNotFound(LookupError):  # noqa: N818 - names what is wrong
    """There is no such run; the message says where it was looked for."""


@dataclass(frozen=True)
class FinishedRun:
    """A planned run and where its objects are."""

    store: RunStore
    manifest: RunManifest


@contextmanager
def object_store() -> Iterator[StorageLocation]:
    """The base of all jobs: the environment's store, else the embedded one of ``AIRFLOW_HOME``.

    The embedded store is started for as long as it is needed where it does not run. Raises
    ``EmbeddedStoreError``.
    """
    from seedance_ops.storage.connection import endpoint_of
    from seedance_ops.storage.server import EmbeddedStore, home_from_environment

    base = StorageLocation(uri=os.environ.get(URI_VARIABLE) or DEFAULT_URI)
    if endpoint_of(base) or URI_VARIABLE in os.environ:
        yield base
        return
    store = EmbeddedStore(home_from_environment())
    was_running = store.running() is not None
    record = store.up()
    try:
        os.environ.update(record.environment())  # the command's own process
        yield base.model_copy(update={"endpoint_url": record.endpoint_url, "region": "us-east-1"})
    finally:
        if not was_running:
            store.down()


def nothing_stored() -> bool:
    """Whether no run can be there yet: no store is named, and the embedded one was never started."""
    from seedance_ops.storage.connection import endpoint_of
    from seedance_ops.storage.server import EmbeddedStore, home_from_environment

    if endpoint_of(StorageLocation(uri=DEFAULT_URI)) or URI_VARIABLE in os.environ:
        return False
    return EmbeddedStore(home_from_environment()).read() is None


def find_run(base: StorageLocation, name: str, needs: Needs | None = None) -> FinishedRun:
    """The run, or of a job the newest that has what is needed; newer ones without it are named.

    Raises ``RunNotFound``, which says of a run without it how far it has come.
    """
    from seedance_ops.storage.errors import ObjectMissing

    job, _, run_id = name.partition("/")
    if not re.fullmatch(NAME_PATTERN, job):
        raise RunNotFound(f"{job!r} is not the name of a job ({NAME_RULE}); give JOB/RUN_ID, or JOB")
    if run_id:
        store = RunStore(base, job, run_id)
        try:
            found = FinishedRun(store, store.manifest())
        except ObjectMissing:
            raise RunNotFound(f"no run {run_id} of job {job} in {base.uri}{_known(base, job)}") from None
        if needs is not None and not needs.met_by(store):
            raise RunNotFound(_unfinished(found, needs))
        return found
    runs = sorted(_runs(base, job), key=lambda run: run.manifest.planned_at_s, reverse=True)
    if not runs:
        raise RunNotFound(f"job {job} has no run in {base.uri}")
    chosen = next((run for run in runs if needs is None or needs.met_by(run.store)), None)
    if chosen is None:
        assert needs is not None
        raise RunNotFound(_unfinished(runs[0], needs))
    if needs is not None and chosen is not runs[0]:
        typer.echo(f"note: {_unfinished(runs[0], needs)}. This is {chosen.manifest.run_id}", err=True)
    return FinishedRun(chosen.store, chosen.store.manifest())


def _unfinished(run: FinishedRun, needs: Needs) -> str:
    planned = run.store.planned()
    airflow = airflow_state(planned.job.metadata.name, planned.run_id)
    return state_of(run.store, planned, needs, airflow=airflow)


def _runs(base: StorageLocation, job: str) -> Iterator[FinishedRun]:
    """Every run as it was planned."""
    from seedance_ops.storage.client import ObjectStore

    objects = ObjectStore(base.child(job))
    for key in objects.list():
        if key.count("/") == 2 and key.endswith(f"/{RESERVED}/manifest.json"):
            manifest = RunManifest.model_validate_json(objects.get(key))
            yield FinishedRun(RunStore(base, job, manifest.run_id), manifest)


def _known(base: StorageLocation, job: str) -> str:
    known = sorted(run.manifest.run_id for run in _runs(base, job))
    return f"; there are: {', '.join(known[-5:])}" if known else ""
