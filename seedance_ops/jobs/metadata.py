"""What a job is called, whose it is, and when it runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seedance_ops.jobs.names import Name
from seedance_ops.strict_model import StrictModel

LabelKey = Annotated[
    str, Field(pattern=r"^([a-z0-9.-]{1,200}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
]
LabelValue = Annotated[str, Field(pattern=r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$")]


class Metadata(StrictModel):
    """Identity and ownership."""

    name: Name
    """Unique in the project: lower-case letters, digits, hyphens; names DAG and object prefix."""
    owner: str | None = Field(default=None, min_length=1, max_length=100)
    """Person or team that answers for the job."""
    description: str | None = Field(default=None, max_length=1000)
    """One sentence for whoever finds the job in a list."""
    labels: dict[LabelKey, LabelValue] = Field(default={})
    """Kubernetes-style labels; stamped on every launched job, table and report as ``label_<key>``."""


class Schedule(StrictModel):
    """When the job runs by itself; without a schedule it runs when triggered."""

    cron: str = Field(min_length=1, max_length=100)
    """Five fields (minute hour day month weekday) or a macro such as ``@daily``."""
    timezone: str = Field(default="UTC", min_length=1, max_length=100)
    """IANA name of the time zone in which ``cron`` is read."""
    catchup: bool = False
    """Whether runs missed while the scheduler was down are made up for."""
