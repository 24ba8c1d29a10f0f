"""The launcher protocol: how a job gets onto a cluster, and what comes back.

``submit`` must be idempotent in the spec's name: a second call with the same name re-attaches, so that a
worker which died between submitting and recording pays for no second job.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Protocol

from pydantic import Field, JsonValue

from seedance_ops.storage.config import StorageLocation
from seedance_ops.strict_model import StrictModel
from seedance_ops.training.plan import LaunchPlan


class LaunchState(StrEnum):
    """What a launched job is doing, told apart as far as the engine can tell."""

    QUEUED = "queued"
    ADMITTED = "admitted"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    LOST = "lost"

    @property
    def terminal(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (LaunchState.QUEUED, LaunchState.ADMITTED, LaunchState.RUNNING)


class FailureKind(StrEnum):
    """Why a job failed, as far as a retry decision needs to know."""

    OUT_OF_MEMORY = "out_of_memory"
    COMMUNICATION = "communication"
    NODE_LOST = "node_lost"
    STORAGE = "storage"
    BAD_INPUT = "bad_input"
    """The job refused its plan or environment: a retry cannot help."""
    DEADLINE = "deadline"
    """It waited or ran longer than it may."""
    PROGRAM = "program"


class CodeArchive(StrictModel):
    """The workload's folder as it was when the run was planned."""

    location: StorageLocation
    key: str
    """Relative to the location."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class LaunchSpec(StrictModel):
    """One job to launch: complete, without secrets."""

    name: str = Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    """Unique per dag, run, variant, seed, spec and submission; RFC 1035 and at most 63 characters."""
    command: tuple[str, ...]
    """argv, before the launch method is put in front of it."""
    launch: Literal["torchrun", "none"] = "torchrun"
    env: dict[str, str] = {}
    secrets: dict[str, str] = {}
    """Variable → reference (``env:NAME`` or ``file:PATH``); resolved where the job starts."""
    code: CodeArchive | None = None
    """What is unpacked into the working directory; ``None`` where an image holds the code."""
    workdir: str = "."
    """Where the command starts, relative to the unpacked code."""
    num_nodes: int = Field(default=1, ge=1)
    processes_per_node: int = Field(ge=1)
    on_nodes: tuple[str, ...] = ()
    """Names of the nodes that it must run on, as a ``LaunchStatus`` gives them; empty: any."""
    accelerator: str = "cpu"
    runtime: Literal["session", "none"] = "session"
    """Whether the command reads the plan itself, or is any program whose results the wrapper uploads."""
    plan: LaunchPlan


class LaunchHandle(StrictModel):
    """What is needed to find a submitted job again, from any process."""

    launcher: str
    name: str
    details: dict[str, JsonValue] = {}


class LaunchStatus(StrictModel):
    """A job's state, with what is known about its progress and end."""

    state: LaunchState
    reason: str | None = None
    failure: FailureKind | None = None
    step: int | None = None
    total_steps: int | None = None
    last_progress_at_s: float | None = None
    submitted_at_s: float | None = None
    started_at_s: float | None = None
    ended_at_s: float | None = None
    nodes: tuple[str, ...] = ()
    """Names of the nodes it runs or ran on; empty until it starts."""
    exit_codes: dict[str, int] = {}
    """Exit code by rank, or under ``"job"`` where the engine tells no more."""
    mean_cpu_utilisation: float | None = None
    """Share of the machine's cores that the job's processes kept busy, 0 … 1."""
    peak_memory_bytes: int | None = None


class LogChunk(StrictModel):
    """A piece of a job's log, and where the next one starts."""

    text: str
    next_offset: int


class Launcher(Protocol):
    """What every engine implements. Calls block; the trigger runs them in a thread."""

    def submit(self, spec: LaunchSpec) -> LaunchHandle:
        """Launch, or re-attach to a job of the same name. Raises ``LaunchError``."""

    def find(self, name: str) -> LaunchHandle | None:
        """The handle of a job of that name, if there is one."""

    def status(self, handle: LaunchHandle) -> LaunchStatus:
        """The job's present state; never raises for a job that is gone (``LOST``)."""

    def logs(self, handle: LaunchHandle, since: int) -> LogChunk:
        """The log from an offset on, bounded in size."""

    def cancel(self, handle: LaunchHandle) -> None:
        """Stop the job and wait until nothing of it runs; a no-op for one that has ended."""
