"""The second stage: stamp the run, and refuse what cannot work before anything is paid for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import Context

from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.provenance import accelerators, stamp_of
from seedance_ops.orchestration.operators.stage import StageOperator


class CheckEnvironmentOperator(StageOperator):
    """Write the stamp that every table and the report carry.

    Args:
        project: The project's root on this machine.
    """

    def __init__(self, *, project: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.project = project

    def execute(self, context: Context) -> dict[str, str]:
        """Check accelerators, write the stamp; returns its short form."""
        run = self.run_store(context)
        manifest = run.planned()
        run.forget("stamp.json")  # without one nothing is launched, also where an earlier pass left one
        _check_accelerators(manifest)
        stamp = stamp_of(manifest, Path(self.project))
        run.write_stamp(stamp)
        for name, value in stamp.items():
            self.log.info("%s: %s", name, value)
        return {name: stamp[name] for name in ("cluster_id", "git_commit", "job_hash")}


def _check_accelerators(manifest: RunManifest) -> None:
    for name, profile in manifest.profiles.items():
        resources = manifest.job.resolve(name).resources
        if (
            profile.kind == "local"
            and resources.accelerator != "cpu"
            and len(accelerators()) < resources.count
        ):
            raise RuntimeError(
                f"variant {name} wants {resources.accelerators} on this machine, which has "
                f"{len(accelerators())}; choose another launcher or `cpu:N`"
            )
