"""Publications small enough to work out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from seedance_ops.audit.findings import AuditFinding
from seedance_ops.audit.published import PublishedFigures
from seedance_ops.audit.recompute import audit

BASE: dict[str, Any] = {
    "apiVersion": "seedance.ops/v1",
    "kind": "PublishedFigures",
    "publication": {"name": "p", "title": "P", "source": "here", "read_on": "2026-12-02"},
}


@pytest.fixture
def finding_of():
    """The finding of one claim over figures given as ``name=printed``."""

    def find(claim: dict[str, Any], **figures: str) -> AuditFinding:
        printed = {name: {"printed": text, "unit": "1", "where": "w"} for name, text in figures.items()}
        published = PublishedFigures.model_validate(
            BASE | {"figures": printed, "claims": {"c": {"where": "w"} | claim}}
        )
        return audit(published).findings[0]

    return find
