"""The report of an audit as Markdown, for a pull-request comment."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.reporting.audit_report import AuditReport
from seedance_ops.reporting.markdown import escaped


def render_audit_markdown(report: AuditReport) -> str:
    """Headline, verdict, and every claim that does not follow or could not be checked."""
    return "\n\n".join(_parts(report)) + "\n"


def _parts(report: AuditReport) -> Iterator[str]:
    yield f"### {escaped(report.headline)}"
    if report.verdict:
        outcome = report.verdict.outcome.replace("_", " ")
        done = "accepted" if report.verdict.accepted else "not accepted"
        yield f"{escaped(report.job)}: {outcome}; the run is {done} (accept: {report.verdict.accept})."
    if report.problems:
        yield "\n".join(f"- {escaped(problem)}" for problem in report.problems)
    rows = [
        "| "
        + " | ".join(map(escaped, (found.claim, found.stated, found.right or "—", found.explanation)))
        + " |"
        for found in report.findings
        if found.outcome != "agrees"
    ]
    if rows:
        yield "\n".join(["| claim | published | recomputed | why |", "| --- | --- | --- | --- |", *rows])
    yield f"Published figures: {escaped(report.published)}, SHA-256 {report.published_sha256[:12]}…"
