"""Renders the report as Markdown that GitHub shows in a pull request: tables alone, every word escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from seedance_ops.cost.ratio import UnitCost, UnitCostUnknown
from seedance_ops.quality import wording
from seedance_ops.reporting.bill import Bill, BillLine
from seedance_ops.reporting.html import cell_lines, monthly_of
from seedance_ops.reporting.report_model import Cell, Column, Report

_MOST_CHARACTERS = 60_000
"""GitHub refuses a comment of more than 65,536."""
_MOST_REASONS = 20
_JOINT = "\N{ZERO WIDTH SPACE}"
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|~$-])")
_TAGS = {"<": "&lt;", ">": "&gt;"}
_MARKS = {"accepted": "✅", "rejected": "❌", "not_judgeable": "❔", "needs_approval": "✋"}
_OUTCOMES = {"pass": "✅", "fail": "❌", "error": "❗", "not_judgeable": "❔"}


def render_markdown(report: Report) -> str:
    """The verdict, strategies, gates, bill and validity, in the page's order; figures stay in the page."""
    blocks = [block for block in _blocks(report) if block]
    text = ""
    for block in blocks:
        if len(text) + len(block) > _MOST_CHARACTERS:
            return f"{text}_The rest is in the report itself: a comment holds no more._\n"
        text += f"{block}\n\n"
    return f"{text.rstrip()}\n"


def escaped(text: object) -> str:
    """Words as words: no HTML, no Markdown, no cell that ends early, nobody mentioned, nothing linked."""
    flat = " ".join(str(text).split()).replace("&", "&amp;")
    flat = _SPECIAL.sub(lambda found: _TAGS.get(found[1], f"\\{found[1]}"), flat)
    # GitHub links these in plain text, and no escape stops it.
    flat = flat.replace("@", f"@{_JOINT}").replace("://", f":{_JOINT}//")
    return re.sub(
        r"\b(www)\.", rf"\1{_JOINT}.", re.sub(r"\\#(?=\d)", rf"\\#{_JOINT}", flat), flags=re.IGNORECASE
    )


def _blocks(report: Report) -> Iterator[str]:
    state = "not judged" if report.status == "failed" else "accepted" if report.accepted else "not accepted"
    yield f"### {escaped(report.headline)}"
    yield (
        f"**{escaped(report.job)}** · run {escaped(report.run_id)} · {state} under accept: {report.accept}"
    )
    yield _bullets(f"{_MARKS[answer.outcome]} {escaped(answer.sentence)}" for answer in report.answers)
    yield _bullets(_decisions(report))
    yield _changed(report)
    yield _section("What went wrong", _bullets(map(escaped, report.problems)))
    yield _section("In production", _bullets(_savings(report)))
    yield _section("Strategies", _strategies(report))
    yield _section("Compression that chose itself", _bullets(_choices(report)))
    yield _section("Gates", _gates(report))
    yield _section("Where the money goes", _bill(report))
    yield _section("Own hardware beside rented", _owned(report))
    yield _section("How far to trust it", _bullets(_doubts(report)))
    yield _provenance(report)


def _section(title: str, body: str) -> str:
    return f"#### {title}\n\n{body}" if body else ""


def _bullets(lines: Iterable[str]) -> str:
    shown = [f"- {line}" for line in lines]
    hidden = len(shown) - _MOST_REASONS
    return "\n".join(shown if hidden <= 0 else [*shown[:_MOST_REASONS], f"- and {hidden} more"])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, figures: range) -> str:
    """A table whose columns in ``figures`` stand to the right; its cells are escaped already."""
    rule = ["---:" if place in figures else "---" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def _changed(report: Report) -> str:
    if not report.overrides:
        return ""
    changes = (f"{escaped(path)} = {escaped(value)}" for path, value in report.overrides.items())
    return f"**This run changed:** {', '.join(changes)}"


def _decisions(report: Report) -> Iterator[str]:
    """What a person has decided, or nobody by the deadline."""
    for verdict in report.verdicts:
        if verdict.asked and verdict.outcome != "needs_approval":
            yield f"✋ **{escaped(verdict.variant)}**: {escaped('; '.join(verdict.reasons))}"


def _choices(report: Report) -> Iterator[str]:
    for choice in report.auto:
        yield f"**{escaped(choice.variant)}** {escaped(choice.sentence)}"


def _savings(report: Report) -> Iterator[str]:
    for saving in report.savings:
        yield f"**{escaped(saving.variant)}**: {escaped(monthly_of(saving))}"


def _strategies(report: Report) -> str:
    if not report.strategies or not report.columns:
        return ""
    head = ["Strategy", *(_title(column) for column in report.columns)]
    rows = [
        [
            f"{escaped(row.variant)}{' (baseline)' if row.baseline else ''}"
            + (" (reused)" if row.variant in report.reused else ""),
            *(_cell(cell, column) for cell, column in zip(row.cells, report.columns, strict=True)),
        ]
        for row in report.strategies
    ]
    return _table(head, rows, figures=range(1, len(head)))


def _title(column: Column) -> str:
    unit = f" ({escaped(column.unit)})" if column.unit != "1" else ""
    return f"{escaped(column.title)}{unit}"


def _cell(cell: Cell, column: Column) -> str:
    return "<br>".join(escaped(line) for line in cell_lines(cell, column))


def _gates(report: Report) -> str:
    if not report.gates:
        return ""
    rows = [
        [
            f"{_OUTCOMES[gate.outcome]} {gate.outcome.replace('_', ' ')}"
            + (f" ({gate.severity})" if gate.severity != "error" else ""),
            escaped(gate.variant),
            escaped(gate.metric),
            escaped(wording.bound_of(gate)),
            escaped(wording.finding_of(gate)),
            str(gate.n),
            escaped(gate.reason or ""),
        ]
        for gate in report.gates
    ]
    return _table(["Result", "Variant", "Metric", "Bound", "Found", "n", "Note"], rows, figures=range(5, 6))


def _bill(report: Report) -> str:
    parts = []
    if report.bill is not None:
        variants = list(report.bill.runs)
        rows = [
            [escaped(line.label), *(escaped(_usd_and_share(report.bill, line, name)) for name in variants)]
            for line in report.bill.lines
        ]
        total = ["**total**", *(escaped(wording.number(report.bill.total_usd[name])) for name in variants)]
        parts.append(
            _table(
                ["USD per run", *map(escaped, variants)], [*rows, total], figures=range(1, 1 + len(variants))
            )
        )
    if report.study is not None:
        parts.append(
            f"Finding out cost {escaped(wording.number(report.study.usd))} USD for "
            f"{escaped(wording.number(report.study.accelerator_hours))} accelerator hours."
        )
    if report.screening is not None:
        stopped = [row.variant for row in report.screening.variants if not row.confirmed]
        parts.append(
            f"A screening of {report.screening.samples} samples a run judged cost alone and stopped "
            f"{escaped(', '.join(stopped) or 'no variant')}."
        )
    return "\n\n".join(parts)


def _usd_and_share(bill: Bill, line: BillLine, variant: str) -> str:
    share = bill.time_share(line, variant)
    of_time = "" if share is None else f" ({wording.percent(share, signed=False)} of the time)"
    return f"{wording.number(line.usd_per_run[variant])}{of_time}"


def _owned(report: Report) -> str:
    head = ["USD per PFLOPS·h", "Depreciation", "Power", "Owned", "Rented", "Break-even h/a", "Cheaper"]
    rows = [
        [
            row.variant,
            _unit_cost(row.depreciation),
            _unit_cost(row.power) + ("" if row.power_source == "unknown" else f" ({row.power_source})"),
            _unit_cost(row.owned),
            f"{_unit_cost(row.rented)} ({row.rented_price_key}, {row.rented_price_basis})",
            _unit_cost(row.break_even),
            f"{row.cheaper.replace('_', ' ')} at {wording.number(row.stated_hours_per_year)} h a year",
        ]
        for row in report.owned
    ]
    cells = [[escaped(cell) for cell in row] for row in rows]
    return _table(head, cells, figures=range(1, 6)) if rows else ""


def _unit_cost(cost: UnitCost | UnitCostUnknown) -> str:
    shown = "—" if cost.estimate is None else wording.number(cost.estimate)
    if isinstance(cost, UnitCostUnknown):
        return f"{shown} ({cost.explanation})"
    return shown if cost.low == cost.high else f"{shown} {wording.interval(cost.low, cost.high)}"


def _doubts(report: Report) -> Iterator[str]:
    for run in report.missing:
        yield f"missing: **{escaped(run.variant)}** seed {run.seed}: {escaped(run.reason)}"
    yield from _data_checks(report)
    for warning in report.validity.warnings if report.validity else ():
        yield f"⚠️ {escaped(warning)}"
    yield from map(escaped, report.limits)


def _data_checks(report: Report) -> Iterator[str]:
    if report.validity is None or not report.validity.data_checks:
        return
    doubtful = report.validity.checks_not_held
    for check in doubtful:
        mark = "⚠️" if check.severity == "warning" else _OUTCOMES[check.outcome]
        yield f"{mark} {escaped(wording.data_sentence_of(check))}"
    total = len(report.validity.data_checks)
    yield f"{total - len(doubtful)} of {total} data checks hold."


def _provenance(report: Report) -> str:
    rows = [["source", escaped(report.source)], *([escaped(k), escaped(v)] for k, v in report.stamp.items())]
    table = _table(["What", "Value"], rows, figures=range(0))
    return f"<details><summary>Provenance</summary>\n\n{table}\n\n</details>"
