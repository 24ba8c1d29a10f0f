"""A report before and after a person has answered."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from seedance_ops.cli.result import print_verdicts
from seedance_ops.quality.approvals import answered, approvals_of
from seedance_ops.reporting.html import render_html
from seedance_ops.reporting.markdown import render_markdown
from seedance_ops.reporting.report import build_report

QUALITY = "equivalent_within: {absolute: 0.05}"
AT = datetime(2026, 1, 2, 10, 0, tzinfo=UTC)


@pytest.fixture
def asked(job_text, make_manifest, make_tables, judge_tables):
    """A run whose ``topk`` has a worse loss, which a person is to weigh."""
    manifest = make_manifest(job_text.replace(QUALITY, f"{QUALITY}, severity: approval"))
    return judge_tables(manifest, make_tables(manifest))


def report_of(judged, gates):
    return build_report(
        judged.manifest, {}, judged.tables, judged.table, judged.costs, judged.statistics, gates
    )


def printed(report):
    output = io.StringIO()
    print_verdicts(Console(file=output, width=120, force_terminal=False), report.as_json())
    return output.getvalue()


def test_before_the_answer_the_report_says_that_it_waits(asked):
    report = report_of(asked, asked.gates)
    assert report.headline == "bf16 accepted; topk waiting for approval"
    page, comment, terminal = render_html(report), render_markdown(report), printed(report)
    assert 'class="badge needs_approval">? needs approval' in page
    assert "severity: approval" in page
    assert "✋ topk is waiting for approval" in comment
    assert "topk: needs approval: val_loss" in terminal
    assert "before a person has answered" in terminal


def test_after_the_answer_every_form_says_who_approved(asked):
    waiting = [verdict for verdict in asked.gates.verdicts if verdict.outcome == "needs_approval"]
    approvals = approvals_of(waiting, ["Approve topk"], by="Ada", by_id="7", at=AT)
    report = report_of(asked, answered(asked.gates, approvals))
    assert report.headline == "bf16, topk accepted"
    said = "approved by Ada at 2026-01-02 10:00 UTC"
    assert said in render_html(report)
    assert said in printed(report)
    assert "✋ **topk**: approved by Ada at" in render_markdown(report)
    assert said in report.as_json()
