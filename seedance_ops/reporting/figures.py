"""The report's figures as inline SVG: no script, no reference outside, the page's own text colour."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from seedance_ops.quality.wording import interval, percent
from seedance_ops.reporting.report_model import Curve, Effect

_TEXT = "#010203"
"""Stands for the colour of the page's text, which differs between light and dark."""
_COLOURS = ("#7d8590", "#1f83d6", "#e0702a", "#2a9d76", "#b65fc0", "#b58a00", "#d1495b", "#5b6ee1")
_DASHES = ("-", "--", "-.", ":")
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10,
    "text.color": _TEXT,
    "axes.edgecolor": _TEXT,
    "axes.labelcolor": _TEXT,
    "xtick.color": _TEXT,
    "ytick.color": _TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
WIDEST_CHANGE = 3.0
"""The axis of changes ends at +300 %, or at a bound beyond, so that one wild interval flattens no other."""


def forest_plot(effects: Sequence[Effect], variants: Sequence[str], label: str) -> str:
    """Relative change and interval of each metric and variant, with the bound of its gate."""
    with mpl.rc_context(_STYLE | {"svg.hashsalt": "forest"}):
        figure = Figure(figsize=(8.2, 1.0 + 0.3 * len(effects)), layout="constrained")
        axes = figure.add_subplot()
        limit = axis_limit(effects)
        for row, effect in enumerate(reversed(effects)):
            _effect(axes, row, effect, _COLOURS[variants.index(effect.variant) % len(_COLOURS)], limit)
        if any(effect.high > limit for effect in effects):
            axes.set_xlim(right=limit)
        axes.axvline(0.0, color=_TEXT, linewidth=0.8)
        axes.set_yticks(range(len(effects)))
        axes.set_yticklabels([f"{effect.metric} · {effect.variant}" for effect in reversed(effects)])
        axes.set_ylim(-0.6, len(effects) - 0.4)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
        axes.set_xlabel("change against the baseline")
        axes.grid(axis="x", color=_TEXT, alpha=0.15, linewidth=0.6)
        return _inline(figure, "forest", label)


def curves_plot(curves: Sequence[Curve], variants: Sequence[str], label: str, *, prefix: str) -> str:
    """One line per run, one colour and dash per variant; ``prefix`` keeps its ids apart from others'."""
    with mpl.rc_context(_STYLE | {"svg.hashsalt": prefix}):
        figure = Figure(figsize=(6.2, 3.8), layout="constrained")
        axes = figure.add_subplot()
        at_one_place = len({samples for curve in curves for samples in curve.samples}) == 1
        for curve in curves:
            place = variants.index(curve.variant)
            first = next(other for other in curves if other.variant == curve.variant) is curve
            axes.plot(
                curve.samples,
                curve.values,
                color=_COLOURS[place % len(_COLOURS)],
                linestyle=_DASHES[place % len(_DASHES)],
                linewidth=1.1,
                alpha=0.8,
                marker="o" if len(curve.samples) < 12 else None,
                markersize=6 if len(curve.samples) == 1 else 3,
                label=curve.variant if first else None,
            )
        if at_one_place:
            axes.set_xticks(curves[0].samples)
        axes.set_xlabel("samples")
        axes.set_ylabel(curves[0].metric)
        axes.grid(color=_TEXT, alpha=0.15, linewidth=0.6)
        axes.legend(frameon=False)
        return _inline(figure, prefix, label)


def axis_limit(effects: Sequence[Effect]) -> float:
    """The largest change that is drawn at its place; a number stands for what lies beyond."""
    return max([WIDEST_CHANGE, *(effect.bound for effect in effects if effect.bound is not None)])


def _effect(axes: Axes, row: int, effect: Effect, colour: str, limit: float) -> None:
    low, high = min(limit, effect.low), min(limit, effect.high)
    axes.plot([low, high], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt")
    if effect.change <= limit:
        axes.plot([effect.change], [row], marker="D" if effect.exact else "o", color=colour, markersize=6)
    if effect.high > limit:
        axes.plot([limit], [row], marker=">", color=colour, markersize=8, clip_on=False)
        text = f"to {percent(effect.high)}"
        if effect.change > limit:
            text = f"{percent(effect.change)} {interval(effect.low, effect.high, as_percent=True)}"
        axes.annotate(
            text,
            (limit, row),
            xytext=(8, 0),
            textcoords="offset points",
            annotation_clip=False,
            va="center",
            fontsize=9,
        )
    if effect.bound is not None:
        axes.plot([effect.bound] * 2, [row - 0.35, row + 0.35], color=_TEXT, linewidth=1.6, linestyle=":")


def _inline(figure: Figure, prefix: str, label: str) -> str:
    """The figure's ``<svg>`` element, fit to stand in a page beside others."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(?:xmlns(?::\w+)?|width|height|version)="[^"]*"', "", svg, count=5)
    svg = svg.replace("xlink:href=", "href=").replace(_TEXT, "currentColor")
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{_attribute(label)}"', 1)


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
