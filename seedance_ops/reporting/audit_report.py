"""The report of an audit: as data, and as one self-contained page."""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

from jinja2 import Environment, StrictUndefined

from seedance_ops.audit.findings import AuditFinding, AuditFindings
from seedance_ops.audit.published import PublishedFigures, Table
from seedance_ops.jobs.audit_manifest import AuditManifest
from seedance_ops.quality.audit_gate import AuditVerdict
from seedance_ops.reporting.html import page_style
from seedance_ops.strict_model import StrictModel

_TEMPLATE = "audit.html.j2"
_SYMBOLS = {"agrees": "✓", "disagrees": "✕", "not_checkable": "?"}
_TONES = {"agrees": "pass", "disagrees": "fail", "not_checkable": "error"}


class AuditReport(StrictModel):
    """``report.json`` of an audit."""

    schema_version: Literal[1] = 1
    kind: Literal["Audit"] = "Audit"
    job: str
    description: str | None
    run_id: str
    source: str
    """The job file."""
    published: str
    """The file of published figures."""
    published_sha256: str
    publication: str
    title: str
    publication_source: str
    status: Literal["judged", "failed"]
    headline: str
    verdict: AuditVerdict | None
    findings: tuple[AuditFinding, ...] = ()
    tables: dict[str, Table] = {}
    """The publication's own tables, as printed."""
    problems: tuple[str, ...] = ()


def build_audit_report(
    manifest: AuditManifest, published: PublishedFigures, findings: AuditFindings, verdict: AuditVerdict
) -> AuditReport:
    """The whole report of an audit that was judged."""
    return AuditReport(
        job=manifest.job.metadata.name,
        description=manifest.job.metadata.description,
        run_id=manifest.run_id,
        source=manifest.source,
        published=manifest.job.published,
        published_sha256=manifest.published_sha256,
        publication=findings.publication,
        title=findings.title,
        publication_source=findings.source,
        status="judged",
        headline=_headline(findings),
        verdict=verdict,
        findings=findings.findings,
        tables=published.tables,
        problems=verdict.problems,
    )


def failed_audit_report(manifest: AuditManifest, problems: list[str]) -> AuditReport:
    """A report that says why there is none."""
    return AuditReport(
        job=manifest.job.metadata.name,
        description=manifest.job.metadata.description,
        run_id=manifest.run_id,
        source=manifest.source,
        published=manifest.job.published,
        published_sha256=manifest.published_sha256,
        publication="",
        title="",
        publication_source="",
        status="failed",
        headline="Not audited: a stage before the report failed",
        verdict=None,
        problems=tuple(problems),
    )


def render_audit_html(report: AuditReport) -> str:
    """The page's text: no script, no request."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "symbol": lambda outcome: _SYMBOLS[outcome],
        "tone": lambda outcome: _TONES[outcome],
        "words": lambda text: str(text).replace("_", " "),
    }
    source = files("seedance_ops.reporting").joinpath(_TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(source).render(report=report, style=page_style())


def _headline(findings: AuditFindings) -> str:
    wrong, unknown = (len(findings.with_outcome(outcome)) for outcome in ("disagrees", "not_checkable"))
    claims = len(findings.findings)
    parts = [f"{wrong} of {claims} claims do not follow from the published figures"] if wrong else []
    if unknown:
        parts.append(f"{unknown} could not be checked")
    return "; ".join(parts) or f"All {claims} claims follow from the published figures"
