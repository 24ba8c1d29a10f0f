"""The names of launches, from what stays the same between tries."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.jobs.identity import launch_name
from seedance_ops.jobs.manifest import RESERVED, RunManifest
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.orchestration.submissions import Intent

_INTENTS = f"{RESERVED}/intents"


def name_of(manifest: RunManifest, intent: Intent) -> str:
    """The launched job's name."""
    return launch_name(
        dag=manifest.job.metadata.name,
        run_id=manifest.run_id,
        variant=intent.variant,
        seed=intent.seed,
        spec_hash=intent.job_hash,
        submission=intent.submission,
    )


def announce(run: RunStore, name: str) -> None:
    """Leave a launch's name beside the run, before it is submitted, so that a teardown can find it."""
    run.objects.put(f"{_INTENTS}/{name}", b"")


def names_of_run(run: RunStore, manifest: RunManifest) -> Iterator[str]:
    """Every name that this run may have launched under."""
    assert manifest.job is not None
    yield from (key.rpartition("/")[2] for key in run.objects.list(f"{_INTENTS}/"))
