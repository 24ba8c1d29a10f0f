"""How a job is executed: its share of a cluster, its repeats, and the bounds it must stay in."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seedance_ops.strict_model import StrictModel

MINIMUM_SEEDS = 3
"""With fewer runs per variant no interval is worth printing: the verdict is "not judgeable"."""

MAXIMUM_RUNS = 1024
"""Airflow refuses to map a task over more: its ``core.max_map_length``, unless somebody raised it."""


class Resources(StrictModel):
    """What each node gives to the job."""

    accelerators: str = Field(default="cpu:1", pattern=r"^[A-Za-z][A-Za-z0-9._-]{0,39}:[1-9][0-9]{0,3}$")
    """``kind:count`` per node, one process each: ``H100:8``, ``cpu:2``."""
    shm_size: str | None = Field(default=None, pattern=r"^[1-9][0-9]*(Ki|Mi|Gi)$")
    """Shared memory of a container, for example ``16Gi``."""

    @property
    def accelerator(self) -> str:
        """Kind of accelerator."""
        return self.accelerators.partition(":")[0]

    @property
    def count(self) -> int:
        """Accelerators per node."""
        return int(self.accelerators.partition(":")[2])


class Repeats(StrictModel):
    """How often each variant runs: a claim needs repeats."""

    seeds: int = Field(default=5, ge=1, le=1000)
    """Runs per variant, one seed each; fewer than 3 are not judgeable."""
    order: Literal["randomised", "sequential"] = "randomised"
    """``randomised`` mixes variants and seeds, so that a slow hour does not fall on one variant."""
    block: Literal["none", "allocation"] = "none"
    """``allocation``: all variants of a seed run one after another on the same nodes, so that no node's speed
    falls on one variant."""
    reuse_baseline: str | None = Field(default=None, pattern=r"^[1-9][0-9]{0,3}[dh]$")
    """Age (``14d``, ``36h``) up to which the baseline of an earlier run stands for this run's, if it was
    trained in the same way under the same circumstances; absent: the baseline is trained every time."""

    @property
    def seed_values(self) -> tuple[int, ...]:
        """The seeds themselves, the same for every variant so that runs pair."""
        return tuple(range(self.seeds))


class Limits(StrictModel):
    """Bounds on one launch."""

    queue_timeout_s: int = Field(default=86_400, ge=1)
    """Seconds a job may wait for its resources; waiting is not billed."""
    run_timeout_s: int = Field(default=86_400, ge=1)
    """Seconds a job may run."""
    retries: int = Field(default=2, ge=0, le=20)
    """New submissions after a failure that a retry can help; training resumes from its checkpoint."""
    max_preemptions: int = Field(default=10, ge=0, le=1000)
    """New submissions after the cluster took the job's resources away."""
