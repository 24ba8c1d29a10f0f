"""What every judged run of a job leaves behind for later ones: one record a run."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from seedance_ops.jobs.manifest import run_key
from seedance_ops.storage.config import StorageLocation
from seedance_ops.strict_model import StrictModel

if TYPE_CHECKING:
    from seedance_ops.storage.client import ObjectStore

_log = logging.getLogger(__name__)
FOLDER = "_history"
"""Below the base of all jobs; no job can be called so."""
_PATIENCE_S = 30.0


class Observation(StrictModel):
    """One metric of one variant: a value per run."""

    variant: str
    metric: str
    values: tuple[float, ...] = Field(min_length=1)
    """In the order of the seeds; runs without a finite value are left out."""


class HistoryRecord(StrictModel):
    """One judged run of a job."""

    schema_version: int = Field(default=1, ge=1)
    job: str
    job_hash: str
    run_id: str
    ended_at_s: float
    accepted: tuple[str, ...]
    """Variants that may replace the baseline."""
    run_accepted: bool
    """Whether the run succeeded under the job's ``accept``."""
    baseline: str
    quality: str | None = None
    """The workload's quality metric; none where it has none."""
    observations: tuple[Observation, ...]
    settings: dict[str, str] = {}
    """By variant: the hash of its settings and launcher; none in records of older versions."""
    ended: dict[str, float] = {}
    """By variant: when the last of its runs ended, in seconds since 1970."""
    treatments: dict[str, str] = {}
    """By variant: the hash of what was trained; none in records of older versions."""
    seeds: dict[str, tuple[int, ...]] = {}
    """By variant: the seeds of its complete runs."""
    reused: tuple[str, ...] = ()
    """Variants whose runs are those of an earlier record: here they are no new observation."""
    usd_per_accelerator_hour: dict[str, float]
    """By variant."""
    stamp: dict[str, str]
    """Code, versions, hardware: what to hold against what has changed."""

    def values(self, variant: str, metric: str) -> tuple[float, ...]:
        """The runs' values; empty where there are none."""
        found = (row for row in self.observations if (row.variant, row.metric) == (variant, metric))
        return next((row.values for row in found), ())


def jobs_with_history(base: StorageLocation) -> list[str]:
    """The names of all jobs below a base location that have a record."""
    from seedance_ops.storage.client import ObjectStore

    keys = ObjectStore(base.child(FOLDER), patience_s=_PATIENCE_S).list()
    return sorted({job for job, slash, _ in (key.partition("/") for key in keys) if slash})


class History:
    """The records of one job below a base location."""

    def __init__(self, base: StorageLocation, job: str) -> None:
        self._location = base.child(FOLDER, job)

    def append(self, record: HistoryRecord) -> None:
        """Store a run's record; judging the same run again replaces its own."""
        self._objects.put(f"{run_key(record.run_id)}.json", record.model_dump_json(indent=2).encode())

    def records(self) -> list[HistoryRecord]:
        """Every record that can be read, oldest first; one of another version's shape is left out."""
        found = []
        objects = self._objects
        for key in objects.list():
            try:
                found.append(HistoryRecord.model_validate_json(objects.get(key)))
            except ValidationError as error:
                _log.warning("%s/%s is left out: %d errors", objects.location.uri, key, error.error_count())
        return sorted(found, key=lambda record: (record.ended_at_s, record.run_id))

    @cached_property
    def _objects(self) -> ObjectStore:
        from seedance_ops.storage.client import ObjectStore

        return ObjectStore(self._location, patience_s=_PATIENCE_S)
