"""Launcher profiles: what differs between clusters, written once for all jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from seedance_ops.jobs.names import Name, VariableName
from seedance_ops.strict_model import StrictModel


class LocalProfile(StrictModel):
    """Processes on the machine that runs the task, started by torchrun."""

    kind: Literal["local"]
    """The engine that starts the jobs."""
    slots: int = Field(default=1, ge=1, le=1024)
    """Jobs that may run at the same time; 1 keeps time measurements undisturbed."""
    price: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")
    """Key of an entry in ``include/catalog/prices.yaml``; there is no default price."""
    env: dict[VariableName, str] = Field(default={})
    """Environment of every job on this launcher; a job's own ``env`` wins."""


# One member today; a union discriminated by `kind` as soon as there are more.
LauncherProfile = LocalProfile


class LauncherCatalog(StrictModel):
    """The file ``include/catalog/launchers.yaml``."""

    launchers: dict[Name, LauncherProfile] = Field(min_length=1)
    """Profiles by the name under which jobs refer to them."""


def _form(value: Any) -> str:
    return "profile name" if isinstance(value, str) else "inline"


LauncherChoice = Annotated[
    Annotated[Name, Tag("profile name")] | Annotated[LauncherProfile, Tag("inline")],
    Discriminator(_form),
]
"""A profile's name, or the profile itself."""
