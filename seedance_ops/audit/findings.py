"""What the audit of a publication found."""

from __future__ import annotations

from typing import Literal

from seedance_ops.strict_model import StrictModel

Outcome = Literal["agrees", "disagrees", "not_checkable"]


class AuditFinding(StrictModel):
    """One claim, recomputed from the figures that it rests on."""

    claim: str
    kind: str
    where: str
    quote: str | None
    stated: str
    """As published."""
    outcome: Outcome
    """``not_checkable``: the figures do not allow a judgement, for example a division by zero."""
    right: str | None
    """What it should be, where that can be said."""
    explanation: str
    """How it was recomputed, and what is wrong."""
    within_input_rounding: bool | None = None
    """Of a disagreement: whether figures before rounding could have given what is printed."""


class AuditFindings(StrictModel):
    """``audit.json``."""

    publication: str
    title: str
    source: str
    findings: tuple[AuditFinding, ...]

    def with_outcome(self, outcome: Outcome) -> list[AuditFinding]:
        """The findings of one outcome."""
        return [finding for finding in self.findings if finding.outcome == outcome]
