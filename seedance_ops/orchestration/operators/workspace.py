"""Setup and teardown around a run: the bucket before it, no living process and no scratch after it."""

from __future__ import annotations

import shutil
from contextlib import suppress

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException
from pydantic import ValidationError

from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.launchers.factory import launcher_for
from seedance_ops.launchers.local import LocalLauncher
from seedance_ops.launchers.workspace import Workspace
from seedance_ops.orchestration.launch_names import announced
from seedance_ops.orchestration.launch_records import record_of, records_of, write_record
from seedance_ops.orchestration.operators.stage import StageOperator
from seedance_ops.orchestration.submissions import Intent
from seedance_ops.training.checkpoint.node_folders import remove_node_folders
from seedance_ops.training.plan import LaunchPlan

_SCRATCH = ("code", "ranks", "job.log")  # the end of the log stands beside its record


class OpenWorkspaceOperator(StageOperator):
    """Make sure that the run has a bucket, in a store that keeps its promises."""

    def execute(self, context: Context) -> None:
        """Create the bucket; raises where the store overwrites silently, since commits rest on it."""
        objects = self.run_store(context).objects
        objects.ensure_bucket()
        if not objects.probe_conditional_writes():
            raise RuntimeError(
                f"{objects.location.endpoint_url or 'the object store'} ignores If-None-Match, so that two "
                "writers could both commit a checkpoint; use AWS S3, Ceph RGW or SeaweedFS"
            )


class CloseWorkspaceOperator(StageOperator):
    """End whatever of the run still runs, record what nobody recorded, and remove the scratch space.

    Fails where somebody ended the run before its verdict: Airflow skips the tasks that are left, and a run
    whose leaf was skipped would count as a success.
    """

    def execute(self, context: Context) -> None:
        """Raises where the run was ended by hand."""
        from seedance_ops.storage.errors import ObjectMissing

        run = self.run_store(context)
        try:
            self._close(run, run.planned())
        except ObjectMissing:
            self.log.info("The run was never planned: nothing was launched")
        if "skipped" in self.states(context, "verdict").values():
            raise AirflowFailException("the run was ended before its verdict")

    def _close(self, run: RunStore, manifest: RunManifest) -> None:
        for name, intent in announced(run).items():
            phase = manifest.phase_of(intent.variant, intent.seed)
            launcher = launcher_for(manifest.profiles[intent.variant])
            if (handle := launcher.find(name)) is None:
                continue
            if not launcher.status(handle).state.terminal:
                self.log.warning("%s still runs after its run: cancelling it", name)
                launcher.cancel(handle)
            if not _is_recorded(run, intent):  # ended by hand: it was paid for all the same
                write_record(run, record_of(phase, intent, name, launcher.status(handle)), launcher, handle)
            if isinstance(launcher, LocalLauncher):
                _remove_scratch(launcher.workspace(name))


def _remove_scratch(workspace: Workspace) -> None:
    with suppress(OSError, ValidationError):  # a launch that never came so far has kept nothing
        remove_node_folders(LaunchPlan.read(workspace.plan), workspace.folder)
    for name in _SCRATCH:
        path = workspace.folder / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _is_recorded(run: RunStore, intent: Intent) -> bool:
    return intent.submission in {record.submission for record in records_of(run, intent.variant, intent.seed)}
