"""Train one variant under one seed on whatever engine the job names, and wait without a worker."""

from __future__ import annotations

from typing import Any, NoReturn

from airflow.sdk import Context
from airflow.sdk.execution_time.context import NEVER_EXPIRE

from seedance_ops.jobs.longest_run import longest_run_s
from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.launchers.base import Launcher, LaunchState, LaunchStatus
from seedance_ops.launchers.factory import launcher_for
from seedance_ops.orchestration.failures import DeadlineExceeded, RetriesExhausted, failure_of
from seedance_ops.orchestration.launch_names import announce, name_of
from seedance_ops.orchestration.launch_records import record_of, records_of, spec_of, write_record
from seedance_ops.orchestration.operators.stage import StageOperator
from seedance_ops.orchestration.submissions import Intent, next_intent
from seedance_ops.orchestration.triggers import LaunchTrigger

_STATE_KEY = "intent"


class LaunchTrainingOperator(StageOperator):
    """Submit a training, defer until it has ended, and record what became of it.

    The intent is kept in the task's state *before* submitting. A worker that dies in between leaves a try
    that submits the same name again, which re-attaches: nothing is paid for twice.

    Args:
        variant: The variant's name.
        seed: The seed.
        order: Position in the run's order.
        poll_interval_s: Seconds between two looks at the job.
    """

    template_fields = (*StageOperator.template_fields, "variant", "seed", "order")

    def __init__(
        self, *, variant: str, seed: int, order: int, poll_interval_s: float = 1.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.variant = variant
        self.seed = seed
        self.order = order
        self.poll_interval_s = poll_interval_s
        self._launching: tuple[Launcher, str] | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Submit or re-attach, and defer; returns at once where an earlier try has recorded a success."""
        run = self.run_store(context)
        manifest = self._phase(run)
        intent = self._next(context, run, manifest)
        if intent.outcome is LaunchState.SUCCEEDED:
            return self._summary(intent)
        if intent.reattached and self._was_cancelled(manifest, intent):
            # Whoever cleared this task cancelled its job, and wants another.
            self._record(context, run, manifest, intent, self._status(manifest, intent))
            intent = self._next(context, run, manifest)
        return self._submit(context, run, manifest, intent)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Record the end; then return, submit anew, or raise the failure's own type.

        Submits anew after a preemption, and where the job that this try re-attached to was being cancelled
        for the sake of this very try.
        """
        run = self.run_store(context)
        manifest, done = self._phase(run), Intent.model_validate(event["intent"])
        status = LaunchStatus.model_validate(event["status"])
        self._record(context, run, manifest, done, status)
        if status.state is LaunchState.SUCCEEDED:
            return self._summary(done)
        if status.state is LaunchState.PREEMPTED and done.preemptions < manifest.job.limits.max_preemptions:
            self._submit(context, run, manifest, done.after_preemption())
        if status.state is LaunchState.CANCELLED and done.reattached:
            self._submit(context, run, manifest, self._next(context, run, manifest))
        failure = failure_of(status, name_of(manifest, done))
        if done.failures >= manifest.job.limits.retries:
            raise RetriesExhausted(f"{failure} (limits.retries: {manifest.job.limits.retries})") from failure
        raise failure

    def on_kill(self) -> None:
        """Cancel what this process is submitting, if it is killed before it could defer."""
        if self._launching:
            launcher, name = self._launching
            if handle := launcher.find(name):
                launcher.cancel(handle)

    def nodes(self, run: RunStore) -> tuple[str, ...]:  # noqa: ARG002 - a block's come from the store
        """The nodes that the training must run on; empty: any."""
        return ()

    def _phase(self, run: RunStore) -> RunManifest:
        return run.planned().phase_of(self.variant, self.seed)

    def _next(self, context: Context, run: RunStore, manifest: RunManifest) -> Intent:
        wanted = Intent(
            variant=self.variant,
            seed=self.seed,
            job_hash=manifest.job_hash,
            max_tries=context["ti"].max_tries,
        )
        stored = context["task_state_store"].get(_STATE_KEY)
        remembered = Intent.model_validate(stored) if stored else None
        known = remembered is not None and remembered.concerns(wanted)
        return next_intent(wanted, remembered, [] if known else records_of(run, self.variant, self.seed))

    def _submit(self, context: Context, run: RunStore, manifest: RunManifest, intent: Intent) -> NoReturn:
        name = name_of(manifest, intent)
        launcher = launcher_for(manifest.profiles[self.variant])
        longest_s = _longest_s(run, manifest, intent)
        self._remember(context, intent)
        announce(run, name, intent)
        self._launching = (launcher, name)
        handle = launcher.submit(spec_of(run, manifest, intent, name, self.nodes(run)))
        self.log.info("Submitted %s (submission %d, take %d)", name, intent.submission, intent.take)
        self.defer(
            trigger=LaunchTrigger(
                profile=manifest.profiles[self.variant].model_dump(mode="json"),
                handle=handle.model_dump(mode="json"),
                intent=intent.model_dump(mode="json"),
                queue_timeout_s=manifest.job.limits.queue_timeout_s,
                run_timeout_s=longest_s,
                poll_interval_s=self.poll_interval_s,
            ),
            method_name="execute_complete",
        )
        raise AssertionError("defer does not return")

    def _summary(self, done: Intent) -> dict[str, Any]:
        return {"variant": self.variant, "seed": self.seed, "submission": done.submission}

    def _was_cancelled(self, manifest: RunManifest, intent: Intent) -> bool:
        return self._status(manifest, intent).state is LaunchState.CANCELLED

    def _status(self, manifest: RunManifest, intent: Intent) -> LaunchStatus:
        launcher = launcher_for(manifest.profiles[self.variant])
        handle = launcher.find(name_of(manifest, intent))
        return launcher.status(handle) if handle else LaunchStatus(state=LaunchState.QUEUED)

    def _record(
        self, context: Context, run: RunStore, manifest: RunManifest, done: Intent, status: LaunchStatus
    ) -> None:
        """Leave the record beside the training's tables, then note in the task's state that it has ended."""
        launcher, name = launcher_for(manifest.profiles[self.variant]), name_of(manifest, done)
        if (handle := launcher.find(name)) is None:
            raise LookupError(f"{name} has ended, but nothing is left of it to record; clear this task")
        if status.state is LaunchState.LOST:
            launcher.cancel(handle)  # processes of a lost job may live on, and would disturb the next
        write_record(run, record_of(manifest, done, name, status), launcher, handle)
        self._remember(context, done.ended(status.state))

    def _remember(self, context: Context, intent: Intent) -> None:
        context["task_state_store"].set(_STATE_KEY, intent.model_dump(mode="json"), retention=NEVER_EXPIRE)


def _longest_s(run: RunStore, manifest: RunManifest, intent: Intent) -> float:
    """The launch's deadline, or earlier what is left of ``budget.per_run_usd``.

    Raises ``DeadlineExceeded`` where earlier submissions of the take have spent it.
    """
    if manifest.job.budget.per_run_usd is None:
        return float(manifest.job.limits.run_timeout_s)
    resolved = manifest.job.resolve(intent.variant)
    accelerators = resolved.num_nodes * resolved.resources.count
    price = manifest.prices[intent.variant].usd_per_accelerator_hour
    earlier = [r for r in records_of(run, intent.variant, intent.seed) if r.take == intent.take]
    spent_s = sum(record.run_s for record in earlier if record.submission < intent.submission)
    left_s = longest_run_s(manifest.job, accelerators, price, spent_s=spent_s)
    if left_s <= 0.0:
        raise DeadlineExceeded(
            f"{intent.variant} seed {intent.seed}: {len(earlier)} submissions have spent budget.per_run_usd "
            f"({manifest.job.budget.per_run_usd:g} USD)"
        )
    return left_s
