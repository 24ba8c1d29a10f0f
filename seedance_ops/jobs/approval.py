"""How a person is asked about what a gate of ``severity: approval`` does not let pass by itself."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seedance_ops.strict_model import StrictModel

_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86_400.0}


class ApprovalTerms(StrictModel):
    """Until when a person may answer, who that is, and what holds when nobody does."""

    deadline: str = Field(default="24h", pattern=r"^[1-9][0-9]{0,3}[mhd]$")
    """Time for an answer, from when the report is there: ``90m``, ``24h``, ``3d``."""
    on_timeout: Literal["reject", "fail"] = "reject"
    """When nobody has answered: ``reject`` the variants and go by ``accept``, or ``fail`` the run."""
    assignees: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] | None = Field(
        default=None, min_length=1, max_length=100
    )
    """Ids of the Airflow users who may answer; absent: whoever may answer for the DAG."""

    @property
    def deadline_s(self) -> float:
        """Seconds from the question to the deadline."""
        return float(self.deadline[:-1]) * _SECONDS[self.deadline[-1]]
