"""What a terminal shows of a report, however narrow it is."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from seedance_ops.cli.result import print_result
from seedance_ops.quality.missing import MissingRun
from seedance_ops.reporting.report import build_report

REASON = "identical in every run: nothing varies, so a test has nothing to go by"


def printed(judged, home, *, width=50):
    missing = (MissingRun(variant="topk", seed=2, reason="submission 4 failed (4 submissions: 4 failed)"),)
    gates = tuple(
        gate.model_copy(
            update={"outcome": "not_judgeable", "reason": REASON, "estimate": None, "low": None, "high": None}
        )
        if (gate.variant, gate.metric) == ("bf16", "val_loss")
        else gate
        for gate in judged.gates.gates
    )
    report = build_report(
        judged.manifest,
        {},
        judged.tables,
        replace(judged.table, missing=missing),
        judged.costs,
        judged.statistics,
        judged.gates.model_copy(update={"gates": gates}),
    )
    output = io.StringIO()
    console = Console(file=output, width=width, force_terminal=False)
    print_result(console, home, "tiny", "run-1", page="<html>", document=report.as_json())
    return output.getvalue().splitlines()


def test_the_path_of_the_report_is_one_whole_line(judged, tmp_path):
    home = tmp_path / ("long" * 30) / "with spaces and [brackets]"
    assert printed(judged, home)[-1] == f"Report: {home / 'reports/tiny/run-1/report.html'}"


def test_reasons_are_whole_lines_below_the_table(judged, tmp_path):
    lines = printed(judged, tmp_path)
    below = max(place for place, line in enumerate(lines) if line.startswith("└"))
    for reason in (
        f"  bf16 val_loss: not judgeable: {REASON}",
        "  missing: topk seed 2: submission 4 failed (4 submissions: 4 failed)",
    ):
        assert lines.index(reason) > below
    assert sum("nothing varies" in line for line in lines) == 1
