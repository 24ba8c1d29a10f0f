"""What every figure of the report shares: colours, marks, type, and the way into the page as inline SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

TEXT = "#010203"
"""Stands for the colour of the page's text, which differs between light and dark."""
GOOD, BAD = "#2a9d76", "#d1495b"
_REM_PER_IN = 7.0
"""A figure grows no larger, so that its type stays near the page's."""
_COORDINATES = re.compile(r'\s(?:d|x|y)="[^"]*"')
_DIGITS = re.compile(r"-?\d+\.\d{3,}")
"""A hundredth of a point is enough; more digits are half of a figure's bytes."""
_COLOURS = ("#7d8590", "#1f83d6", "#e0702a", "#2a9d76", "#b65fc0", "#b58a00", "#d1495b", "#5b6ee1")
_DASHES = ("-", "--", "-.", ":")
_MARKS = ("o", "s", "^", "D", "v", "P", "X")
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10,
    "text.color": TEXT,
    "axes.edgecolor": TEXT,
    "axes.labelcolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def colour_of(place: int) -> str:
    """Of the variant at this place in the job."""
    return _COLOURS[place % len(_COLOURS)]


def dash_of(place: int) -> str:
    """With the colour it tells 32 variants apart, also on paper without colour."""
    return _DASHES[(place + place // len(_COLOURS)) % len(_DASHES)]


def mark_of(place: int) -> str:
    """With the colour it tells 56 variants apart."""
    return _MARKS[place % len(_MARKS)]


@contextmanager
def drawing(prefix: str, width_in: float, height_in: float) -> Iterator[tuple[Figure, Axes]]:
    """A figure of one plot in the report's style; ``prefix`` makes its ids the same at every rendering."""
    with panels(prefix, width_in, height_in, 1) as (figure, (axes,)):
        yield figure, axes


@contextmanager
def panels(
    prefix: str, width_in: float, height_in: float, count: int
) -> Iterator[tuple[Figure, tuple[Axes, ...]]]:
    """As ``drawing``, with several plots side by side."""
    with mpl.rc_context(_STYLE | {"svg.hashsalt": prefix}):
        figure = Figure(figsize=(width_in, height_in), layout="constrained")
        yield figure, tuple(figure.add_subplot(1, count, place) for place in range(1, count + 1))


def grid(axes: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Faint lines in the colour of the text."""
    axes.grid(axis=axis, color=TEXT, alpha=0.15, linewidth=0.6)
    axes.set_axisbelow(True)


def inline(figure: Figure, prefix: str, label: str) -> str:
    """The figure's ``<svg>`` element, fit to stand in a page beside others.

    Args:
        figure: What ``drawing`` gave.
        prefix: Keeps its ids apart from those of other figures.
        label: What it shows, in words, for who does not see it.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = _COORDINATES.sub(lambda found: _DIGITS.sub(_shorter, found[0]), svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(?:xmlns(?::\w+)?|width|height|version)="[^"]*"', "", svg, count=5)
    svg = svg.replace("xlink:href=", "href=").replace(TEXT, "currentColor")
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    widest = f"max-width:{_REM_PER_IN * figure.get_figwidth():.0f}rem"
    return svg.replace("<svg", f'<svg role="img" style="{widest}" aria-label="{_attribute(label)}"', 1)


def _shorter(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
