"""Runs of an earlier study that stand in for runs of this one."""

from __future__ import annotations

from pydantic import Field

from seedance_ops.strict_model import StrictModel

_S = {"h": 3600.0, "d": 86_400.0}


class ReusedRuns(StrictModel):
    """One variant whose runs were trained, and paid for, by an earlier run of the job."""

    run_id: str
    ended_at_s: float = Field(ge=0.0)
    """When the last of them ended."""
    treatment: str
    """Hash of everything that decides what was trained: the same in both runs."""


def age_s(text: str) -> float:
    """Seconds of an age as jobs write it: ``14d``, ``36h``."""
    return float(text[:-1]) * _S[text[-1]]
