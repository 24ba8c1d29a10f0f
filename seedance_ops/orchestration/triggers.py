"""Waits for a launched job without holding a worker, and brings its log along."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent
from pydantic import TypeAdapter

from seedance_ops.jobs.profiles import LauncherProfile
from seedance_ops.launchers.base import FailureKind, Launcher, LaunchHandle, LaunchState, LaunchStatus
from seedance_ops.launchers.factory import launcher_for

_PROFILE: TypeAdapter[LauncherProfile] = TypeAdapter(LauncherProfile)


_SETTLE_S = 2.0
"""An event that comes before the scheduler has seen the worker let go makes it fail the task."""


class LaunchTrigger(BaseTrigger):
    """Fires once, when the job has ended or outlived a deadline; the event carries the whole status.

    Queue time and run time have a deadline each. A user who fails or clears the task cancels the job; a
    triggerer that restarts does not.

    Args:
        profile: The launcher's profile, as JSON.
        handle: The job's handle, as JSON.
        intent: Which submission this is, as JSON; comes back in the event.
        queue_timeout_s: Seconds the job may wait for resources.
        run_timeout_s: Seconds it may run.
        poll_interval_s: Seconds between two looks.
    """

    def __init__(
        self,
        *,
        profile: dict[str, Any],
        handle: dict[str, Any],
        intent: dict[str, Any],
        queue_timeout_s: float,
        run_timeout_s: float,
        poll_interval_s: float = 1.0,
    ) -> None:
        super().__init__()
        self.profile = profile
        self.handle = handle
        self.intent = intent
        self.queue_timeout_s = queue_timeout_s
        self.run_timeout_s = run_timeout_s
        self.poll_interval_s = poll_interval_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """See ``BaseTrigger.serialize``."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "profile": self.profile,
                "handle": self.handle,
                "intent": self.intent,
                "queue_timeout_s": self.queue_timeout_s,
                "run_timeout_s": self.run_timeout_s,
                "poll_interval_s": self.poll_interval_s,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the end; blocking calls run in threads."""
        launcher, handle = self._launcher()
        await asyncio.sleep(_SETTLE_S)
        watch = _Stopwatch()
        offset = 0
        while True:
            status = await asyncio.to_thread(launcher.status, handle)
            offset = await self._forward_log(launcher, handle, offset)
            if not status.state.terminal and (reason := self._overdue(status, watch)):
                await asyncio.to_thread(launcher.cancel, handle)
                status = await asyncio.to_thread(launcher.status, handle)
                status = status.model_copy(
                    update={"state": LaunchState.FAILED, "failure": FailureKind.DEADLINE, "reason": reason}
                )
            if status.state.terminal:
                await self._forward_log(launcher, handle, offset)
                yield TriggerEvent({"status": status.model_dump(mode="json"), "intent": self.intent})
                return
            await asyncio.sleep(self.poll_interval_s)

    async def on_kill(self) -> None:
        """Cancel the job: a user failed or cleared the task."""
        launcher, handle = self._launcher()
        self.log.info("Cancelling %s: the task was ended by a user", handle.name)
        await asyncio.to_thread(launcher.cancel, handle)

    def _launcher(self) -> tuple[Launcher, LaunchHandle]:
        return launcher_for(_PROFILE.validate_python(self.profile)), LaunchHandle.model_validate(self.handle)

    def _overdue(self, status: LaunchStatus, watch: _Stopwatch) -> str | None:
        if status.state is LaunchState.RUNNING:
            doing, began_s = "ran", status.started_at_s
            limit_s, key = self.run_timeout_s, "run_timeout_s"
        else:
            doing, began_s = "waited", status.submitted_at_s
            limit_s, key = self.queue_timeout_s, "queue_timeout_s"
        if began_s is None or watch.elapsed_s(doing, began_s) <= limit_s:
            return None
        or_money = ", or budget.per_run_usd," if doing == "ran" else ""
        return f"{doing} longer than {limit_s:g} s; raise limits.{key}{or_money} if that is not a fault"

    async def _forward_log(self, launcher: Launcher, handle: LaunchHandle, offset: int) -> int:
        chunk = await asyncio.to_thread(launcher.logs, handle, offset)
        for line in chunk.text.splitlines():
            self.log.info("%s", line)
        return chunk.next_offset


class _Stopwatch:
    """Elapsed time that a wall clock which jumps while we watch cannot change."""

    def __init__(self) -> None:
        self._first_look: dict[str, tuple[float, float]] = {}

    def elapsed_s(self, phase: str, began_s: float) -> float:
        """Seconds in a phase that began at a Unix time, by the wall clock only up to the first look."""
        now_s = time.monotonic()
        before_s, looked_s = self._first_look.setdefault(phase, (max(0.0, time.time() - began_s), now_s))
        return before_s + (now_s - looked_s)
