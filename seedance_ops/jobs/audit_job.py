"""``kind: Audit``: recompute what a publication derives from its own figures (R5.3)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seedance_ops.jobs.metadata import Metadata, Schedule
from seedance_ops.jobs.names import RelativePath
from seedance_ops.storage.config import StorageLocation
from seedance_ops.strict_model import StrictModel


class AuditJob(StrictModel):
    """One publication, and whether the run fails where it contradicts itself."""

    api_version: Literal["seedance.ops/v1"] = Field(alias="apiVersion")
    """Version of the job language."""
    kind: Literal["Audit"]
    """What the file describes."""
    metadata: Metadata
    """What the job is called and whose it is."""
    schedule: Schedule | None = None
    """When it runs by itself; absent: when triggered."""
    published: RelativePath
    """The file of published figures, relative to the project: ``include/published/….yaml``."""
    accept: Literal["all", "report"] = "all"
    """``all``: the run fails where a claim does not hold; ``report``: it never fails."""
    storage: StorageLocation | None = None
    """Where the findings go; default: the deployment's own location."""
