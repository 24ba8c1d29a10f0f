"""The audit of the published evaluation finds by itself what is known to be wrong with it (R5.3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from seedance_ops.audit.findings import AuditFindings
from seedance_ops.audit.recompute import audit
from seedance_ops.jobs.published_file import load_published

PUBLISHED = Path(__file__).resolve().parents[3] / "include/published"


@pytest.fixture(scope="module")
def findings() -> AuditFindings:
    return audit(load_published(PUBLISHED / "seedance-2.0.yaml"))


def test_it_disagrees_with_exactly_what_is_wrong(findings: AuditFindings) -> None:
    assert {finding.claim for finding in findings.with_outcome("disagrees")} == {
        "price-of-computing",
        "calibration",
        "tco-unit",
        "tco-resources",
        "anova-a-b",
        "anova-a-c",
        "scale-out-reduction",
        "power-unit",
        "power-by-cooling",
    }
    assert not findings.with_outcome("not_checkable")


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("scale-out-reduction", "-82.0 %"),
        ("calibration", "8420, 8433, 8454"),
        ("price-of-computing", "USD per PFLOPS·h"),
        ("anova-a-b", "fits 3 groups (df₁ 2) at df₂ 47 … 59"),
        ("anova-a-c", "fits 3 groups (df₁ 2) at df₂ 42 … 111"),
        ("tco-unit", "USD·request/s²"),
        ("power-by-cooling", "0.66"),
    ],
)
def test_it_says_what_is_right(findings: AuditFindings, claim: str, words: str) -> None:
    found = next(finding for finding in findings.findings if finding.claim == claim)
    assert words in f"{found.right} {found.explanation}"


def test_the_example_of_another_vendor_is_audited_too() -> None:
    found = audit(load_published(PUBLISHED / "example-vendor.yaml"))
    assert {finding.claim: finding.outcome for finding in found.findings} == {
        "twice-as-fast": "disagrees",  # 2210 ÷ 1180 = 1.87
        "price-increase": "agrees",  # 22.26 %
        "significant": "agrees",
    }
