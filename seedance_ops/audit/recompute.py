"""Recomputes every claim of a publication from the figures that it rests on."""

from __future__ import annotations

from typing import assert_never

from seedance_ops.audit import arithmetic, plausibility
from seedance_ops.audit.claims import (
    CalibrationFactor,
    Claim,
    ExplainedBy,
    FormulaUnit,
    FTest,
    PercentChange,
    Ratio,
    Sum,
    UnitPrice,
)
from seedance_ops.audit.dimensions import formula_unit
from seedance_ops.audit.f_tests import f_test
from seedance_ops.audit.findings import AuditFinding, AuditFindings
from seedance_ops.audit.judgement import Judgement
from seedance_ops.audit.published import PublishedFigures


def audit(published: PublishedFigures) -> AuditFindings:
    """One finding per claim, in the file's order.

    Figures are taken as printed: that is all a reader has. Raises ``KeyError`` for a reference to a figure
    that is not there; ``jobs.published_file`` has refused such a file before.
    """
    return AuditFindings(
        publication=published.publication.name,
        title=published.publication.title,
        source=published.publication.source,
        findings=tuple(_finding(name, claim, published) for name, claim in published.claims.items()),
    )


def _finding(name: str, claim: Claim, published: PublishedFigures) -> AuditFinding:
    judged = _judge(claim, published)
    return AuditFinding(
        claim=name,
        kind=claim.kind,
        where=claim.where,
        quote=claim.quote,
        stated=judged.stated,
        outcome=judged.outcome,
        right=judged.right,
        explanation=judged.explanation,
        within_input_rounding=judged.within_input_rounding,
    )


def _judge(claim: Claim, published: PublishedFigures) -> Judgement:  # noqa: PLR0911 - one return per kind
    match claim:
        case PercentChange():
            return arithmetic.percent_change(claim, published)
        case Ratio():
            return arithmetic.ratio(claim, published)
        case Sum():
            return arithmetic.total(claim, published)
        case ExplainedBy():
            return arithmetic.explained_by(claim, published)
        case CalibrationFactor():
            return plausibility.calibration_factor(claim, published)
        case UnitPrice():
            return plausibility.unit_price(claim, published)
        case FTest():
            return f_test(claim)
        case FormulaUnit():
            return formula_unit(claim)
        case _:
            assert_never(claim)
