"""Renders the report as one self-contained page: no script, no request, readable in light, dark and print."""

from __future__ import annotations

import datetime as dt
import json
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from pydantic import JsonValue

from seedance_ops.quality import wording
from seedance_ops.reporting.economics import MonthlySaving
from seedance_ops.reporting.page_figures import figures_of
from seedance_ops.reporting.report_model import Cell, Column, Report
from seedance_ops.stats.outcomes import Interval

_TEMPLATE = "report.html.j2"
_NO_BREAK = "\N{NO-BREAK SPACE}"
_EVERY_RUN = "in every run"
_SYMBOLS = {
    "accepted": "✓",
    "pass": "✓",
    "rejected": "✕",
    "fail": "✕",
    "error": "!",
    "not_judgeable": "?",
    "needs_approval": "?",
    "failed": "!",
}


def render_html(report: Report) -> str:
    """The page's text."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "lines": cell_lines,
        "number": wording.number,
        "percent": lambda share: wording.percent(share, signed=False),
        "bound": wording.bound_of,
        "finding": wording.finding_of,
        "excess": wording.excess_of,
        "clock": _clock,
        "rows": lambda columns: zip(*columns, strict=True),
        "setting": _setting,
        "monthly": monthly_of,
        "symbol": lambda outcome: _SYMBOLS.get(outcome, ""),
        "words": lambda outcome: str(outcome).replace("_", " "),
    }
    source = files("seedance_ops.reporting").joinpath(_TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(source).render(
        report=report, figures=figures_of(report), style=page_style()
    )


def monthly_of(saving: MonthlySaving) -> str:
    """What a variant is worth a month, in one sentence."""
    if not isinstance(saving.monthly, Interval):
        return f"not judgeable: {saving.monthly.reason}"
    found = saving.monthly
    verb = "saves" if found.estimate >= 0 else "costs"
    text = (
        f"{verb} {wording.number(abs(found.estimate))} {saving.unit} a month "
        f"(95 % interval of the saving {wording.interval(found.low, found.high, signed=True)}) "
        f"at {wording.number(saving.runs_per_month)} runs a month"
    )
    if saving.capacity != "on_demand":
        return f"{text}; on {saving.capacity} capacity no cash is saved, hours are freed"
    cost = f"the study cost {wording.number(saving.study_usd)} USD"
    if saving.payback_months is None:
        return f"{text}; {cost}, and that it pays back is not shown"
    return f"{text}; {cost} and pays back in {wording.number(saving.payback_months)} months"


def page_style() -> Markup:
    """The style sheet that every page of the project carries inline."""
    return Markup(files("seedance_ops.reporting").joinpath("page.css").read_text(encoding="utf-8"))  # noqa: S704


def cell_lines(cell: Cell, column: Column) -> list[str]:
    """What a cell of the strategy table shows, one thing a line: mean, interval, change, number of runs.

    A line breaks after the comma of an interval alone, so that the table fits a window.
    """
    change = _change(cell, column)
    note = f"n = {cell.n}" + (f"; {cell.reason}" if cell.reason else "")
    lines = [*_level(cell, column), *([" ".join(change)] if change else [])]
    return [*(_unbroken(line) for line in lines), note]


def _unbroken(line: str) -> str:
    return line.replace(" ", _NO_BREAK).replace(f",{_NO_BREAK}", ", ").replace(f"{_NO_BREAK}[", " [")


def _level(cell: Cell, column: Column) -> list[str]:
    if cell.mean is None:
        return ["—"]
    as_percent = column.metric == "utilisation_mean"
    shown = _share(cell.mean) if as_percent else wording.number(cell.mean)
    if cell.low is None or cell.high is None:
        return [shown]
    ends = (
        f"[{_share(cell.low)}, {_share(cell.high)}]" if as_percent else wording.interval(cell.low, cell.high)
    )
    return [shown, _EVERY_RUN if cell.low == cell.high else ends]


def _change(cell: Cell, column: Column) -> list[str]:
    if cell.change is None or cell.change_low is None or cell.change_high is None:
        return []
    relative = column.change_scale == "relative"
    shown = wording.percent(cell.change) if relative else wording.number(cell.change, signed=True)
    ends = wording.interval(cell.change_low, cell.change_high, as_percent=relative, signed=True)
    return [shown, _EVERY_RUN if cell.change_low == cell.change_high else ends]


def _share(value: float) -> str:
    return wording.percent(value, signed=False)


def _setting(value: JsonValue) -> str:
    """A value as the job's file has it."""
    return value if isinstance(value, str) else json.dumps(value)


def _clock(at_s: float | None) -> str:
    if at_s is None:
        return "—"
    return dt.datetime.fromtimestamp(at_s, tz=dt.UTC).strftime("%Y-%m-%d %H:%M:%S")
