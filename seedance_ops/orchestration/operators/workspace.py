"""Setup and teardown around a run: the bucket before it, no living process and no scratch after it."""

from __future__ import annotations

import shutil

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from seedance_ops.launchers.base import Launcher, LaunchHandle
from seedance_ops.launchers.factory import launcher_for
from seedance_ops.launchers.local import LocalLauncher
from seedance_ops.orchestration.operators.stage import StageOperator

_SCRATCH = ("checkpoints", "code", "ranks")


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
    """End whatever of the run still runs, and remove its scratch space. Small files stay for a look.

    Fails where somebody ended the run before its verdict: Airflow skips the tasks that are left, and a run
    whose leaf was skipped would count as a success.
    """

    def execute(self, context: Context) -> None:
        """Find each launch of the run by its own name; raises where the run was ended by hand."""
        self._close_all(context)
        states = context["ti"].get_task_states(
            dag_id=context["dag"].dag_id, task_ids=["verdict"], run_ids=[context["run_id"]]
        )
        if "skipped" in states.get(context["run_id"], {}).values():
            raise AirflowFailException("the run was ended before its verdict")

    def _close_all(self, context: Context) -> None:
        from seedance_ops.orchestration.launch_names import names_of_run
        from seedance_ops.storage.errors import ObjectMissing

        run = self.run_store(context)
        try:
            manifest = run.manifest()
        except ObjectMissing:
            return  # never planned: nothing was launched
        for profile in manifest.profiles.values():
            launcher = launcher_for(profile)
            for name in names_of_run(run, manifest):
                if handle := launcher.find(name):
                    self._close(launcher, handle)

    def _close(self, launcher: Launcher, handle: LaunchHandle) -> None:
        if not launcher.status(handle).state.terminal:
            self.log.warning("%s still runs after its run: cancelling it", handle.name)
            launcher.cancel(handle)
        if isinstance(launcher, LocalLauncher):
            folder = launcher.workspace(handle.name).folder
            for scratch in _SCRATCH:
                shutil.rmtree(folder / scratch, ignore_errors=True)
