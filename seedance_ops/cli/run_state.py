"""Says of a run that lacks what a command reads how far it has come, and what to do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from seedance_ops.jobs.manifest import RESERVED, RunManifest
from seedance_ops.jobs.run_store import RunStore


@dataclass(frozen=True)
class Needs:
    """What a command reads of a run: any one of these objects below ``_run/``."""

    what: str
    any_of: tuple[str, ...]

    def met_by(self, store: RunStore) -> bool:
        """Whether the run has it."""
        return any(store.objects.exists(f"{RESERVED}/{name}") for name in self.any_of)


_TABLES = "table_problems.json"  # the last of the tables to be written
REPORT = Needs("a report", ("report.json", _TABLES))
TABLES = Needs("its tables", (_TABLES,))
BILL = Needs("a bill", ("tables/ledger.parquet", "tables/screening_ledger.parquet"))


def state_of(store: RunStore, manifest: RunManifest, needs: Needs, *, airflow: str | None) -> str:
    """One sentence: what is missing, what the run has done, what state it is in, and the next step.

    Args:
        store: The run's objects.
        manifest: What was planned.
        needs: What it lacks.
        airflow: What Airflow says of it; None where none was found to ask.
    """
    planned = len(manifest.to_train) + len(manifest.screening_runs)
    trained = {tuple(key.split("/")[:2]) for key in store.objects.list() if "/launches/submission-" in key}
    done = f"{len(trained)} of {planned} trainings have ended"
    if manifest.screening_runs:
        done = f"{len(trained)} of at most {planned} trainings have ended"
    start = f"run {manifest.run_id} of job {manifest.job.metadata.name} does not have {needs.what}"
    again = f"run it again with `seedance run {manifest.source}`"
    match airflow:
        case "queued" | "running":
            return f"{start} yet: it is still running, {done}; wait for its end"
        case "success" | "failed":
            return f"{start}: Airflow says {airflow}, and {done}; it was ended or broke off before: {again}"
        case _:
            return (
                f"{start}: {done}. Either it is still running, then wait for its end; or it was cancelled "
                f"before its end, then {again}"
            )


def airflow_state(job: str, run_id: str) -> str | None:
    """What the Airflow of ``AIRFLOW_HOME`` says of a run; None where none runs there, or it knows no such."""
    from seedance_ops.orchestration.client import AirflowClient, AirflowRefused
    from seedance_ops.orchestration.embedded.components import running
    from seedance_ops.orchestration.embedded.settings import USER, keys_of

    home = Path(os.environ.get("AIRFLOW_HOME", ".airflow")).absolute()
    found = running(home)
    if found is None:
        return None
    try:
        return AirflowClient(found.url, USER, keys_of(home).password).run_state(job, run_id)
    except AirflowRefused:
        return None
