"""The names of launches, from what stays the same between tries, and where a run keeps the list of them."""

from __future__ import annotations

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


def announce(run: RunStore, name: str, intent: Intent) -> None:
    """Leave what is about to be launched beside the run, so that a teardown can find it."""
    run.objects.put(f"{_INTENTS}/{name}", intent.model_dump_json().encode())


def announced(run: RunStore) -> dict[str, Intent]:
    """Everything that this run may have launched, by name."""
    return {
        key.rpartition("/")[2]: Intent.model_validate_json(run.objects.get(key))
        for key in run.objects.list(f"{_INTENTS}/")
    }
