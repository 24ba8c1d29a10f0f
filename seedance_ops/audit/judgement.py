"""The outcome of one recomputation."""

from __future__ import annotations

from dataclasses import dataclass

from seedance_ops.audit.findings import Outcome


@dataclass(frozen=True)
class Judgement:
    """What a recomputation says of a claim; the fields are those of ``AuditFinding``."""

    stated: str
    outcome: Outcome
    right: str | None
    explanation: str
    within_input_rounding: bool | None = None
