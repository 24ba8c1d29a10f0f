"""Prints a finished run's verdict, and saves its report where a browser can open it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from seedance_ops.jobs.manifest import run_key
from seedance_ops.whole_file import write_whole

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from seedance_ops.reporting.report_model import Report

_STYLES = {"accepted": "green", "rejected": "red", "not_judgeable": "yellow", "needs_approval": "yellow"}


def print_result(
    console: Console, home: Path, job: str, run_id: str, *, page: str | None, document: str | None
) -> None:
    """Print the verdict of a run and the path of its report, or that there is none.

    Args:
        console: Where to print.
        home: The report is saved below ``home/reports``.
        job: The job's name.
        run_id: Airflow's.
        page: The report as HTML; None where the run ended before it was written.
        document: The same as JSON.
    """
    if page is None or document is None:
        console.print(f"No report: the run {run_id} ended before its report was written.", style="yellow")
        return
    folder = home / "reports" / job / run_key(run_id)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "report.html", page)
    write_whole(folder / "report.json", document)
    if json.loads(document).get("kind") == "Audit":
        _print_audit(console, document)
    else:
        print_verdicts(console, document)
    console.print(f"Report: {folder / 'report.html'}", markup=False, highlight=False, soft_wrap=True)


def print_verdicts(console: Console, document: str) -> None:
    """Print the headline, each gate's finding, and what is missing.

    Args:
        console: Where to print.
        document: The report as JSON.
    """
    from pydantic import ValidationError

    from seedance_ops.reporting.report_model import Report

    try:
        report = Report.model_validate_json(document)
    except ValidationError:
        console.print("The report was written by another version: open it in a browser.", style="yellow")
        return
    console.print()
    console.print(report.headline, style="bold", markup=False, highlight=False)
    if report.verdicts:
        console.print(_table(report))
    for line in (*report.problems, *_reasons(report), *_missing(report)):
        console.print(f"  {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if report.status == "judged":
        done = "accepted" if report.accepted else "not accepted"
        if any(verdict.outcome == "needs_approval" for verdict in report.verdicts):
            done += " before a person has answered"
        console.print(f"The run is {done} (accept: {report.accept}).", markup=False, highlight=False)


def _print_audit(console: Console, document: str) -> None:
    from rich.markup import escape
    from rich.table import Table

    from seedance_ops.reporting.audit_report import AuditReport

    report = AuditReport.model_validate_json(document)
    console.print()
    console.print(report.headline, style="bold", markup=False, highlight=False)
    table = Table("claim", "published", "recomputed", "why", show_lines=True)
    for finding in report.findings:
        if finding.outcome != "agrees":
            table.add_row(
                *map(escape, (finding.claim, finding.stated, finding.right or "—", finding.explanation))
            )
    if table.row_count:
        console.print(table)
    for problem in report.problems:
        console.print(f"  {problem}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if report.verdict:
        done = "accepted" if report.verdict.accepted else "not accepted"
        console.print(f"The run is {done} (accept: {report.verdict.accept}).", markup=False, highlight=False)


def _missing(report: Report) -> list[str]:
    return [f"missing: {run.variant} seed {run.seed}: {run.reason}" for run in report.missing]


def _reasons(report: Report) -> list[str]:
    """Why a gate or a variant has no answer: sentences, too long for the table's columns."""
    of_gates = [
        f"{gate.variant} {gate.metric}: {gate.outcome.replace('_', ' ')}: {gate.reason}"
        for gate in report.gates
        if gate.reason is not None
    ]
    with_gates = {gate.variant for gate in report.gates}
    of_variants = [
        f"{verdict.variant}: {verdict.outcome.replace('_', ' ')}: {reason}"
        for verdict in report.verdicts
        if verdict.variant not in with_gates or verdict.asked
        for reason in verdict.reasons
    ]
    return [*of_gates, *of_variants]


def _table(report: Report) -> Table:
    from rich.table import Table
    from rich.text import Text

    from seedance_ops.quality.wording import bound_of, finding_of

    table = Table("variant", "verdict", "gate", "found", "wanted")
    for verdict in report.verdicts:
        head = [Text(verdict.variant), Text(verdict.outcome.replace("_", " "), _STYLES[verdict.outcome])]
        gates = [gate for gate in report.gates if gate.variant == verdict.variant]
        if not gates:
            table.add_row(*head, Text(""), Text("—"), Text(""))
        for gate in gates:
            style = "" if gate.outcome == "pass" else "red" if gate.severity == "error" else "yellow"
            outcome = f"{gate.metric}: {gate.outcome.replace('_', ' ')}"
            outcome += f" ({gate.severity})" if style == "yellow" else ""
            table.add_row(*head, Text(outcome, style), Text(finding_of(gate)), Text(bound_of(gate)))
            head = [Text(""), Text("")]
        table.add_section()
    return table
