"""Runs that were planned and did not give numbers."""

from __future__ import annotations

from seedance_ops.strict_model import StrictModel


class MissingRun(StrictModel):
    """One variant and seed without a place in the run table, and why."""

    variant: str
    seed: int
    reason: str


class MissingRuns(StrictModel):
    """``missing.json``."""

    runs: tuple[MissingRun, ...] = ()
