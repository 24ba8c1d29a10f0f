"""The figure from the baseline's bill, component by component, to a variant's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from seedance_ops.quality.wording import number
from seedance_ops.reporting.bill import Bill, steps_between
from seedance_ops.reporting.figure_style import BAD, GOOD, TEXT, drawing, grid, inline


def waterfall_plot(bill: Bill, baseline: str, variant: str, label: str, *, prefix: str) -> str:
    """Totals as full bars; what a component adds or takes as a bar that hangs between them."""
    steps = steps_between(bill, baseline, variant)
    names = [baseline, *(name for name, _ in steps), variant]
    with drawing(prefix, 6.2, 1.1 + 0.34 * len(names)) as (figure, axes):
        level = bill.total_usd[baseline]
        axes.barh([0], [level], height=0.6, color=TEXT, alpha=0.45)
        _number(axes, level, 0, number(level))
        for row, (_, change) in enumerate(steps, start=1):
            axes.barh([row], [change], left=[level], height=0.6, color=BAD if change > 0 else GOOD)
            _number(axes, max(level, level + change), row, number(change, signed=True))
            level += change
        last, total = len(names) - 1, bill.total_usd[variant]
        axes.barh([last], [total], height=0.6, color=TEXT, alpha=0.45)
        _number(axes, total, last, number(total))
        axes.set_yticks(range(len(names)))
        axes.set_yticklabels(names)
        axes.invert_yaxis()
        left, right = _span(bill.total_usd[baseline], [change for _, change in steps])
        axes.set_xlim(left, right)
        axes.xaxis.set_major_locator(MaxNLocator(5))  # long numbers, where bills differ by little
        axes.set_xlabel("USD per run" if left == 0.0 else "USD per run; the axis does not start at 0")
        grid(axes, "x")
        return inline(figure, prefix, label)


def _span(total: float, changes: Sequence[float]) -> tuple[float, float]:
    """The axis: from 0, or from nearer where changes would be slivers; room for the numbers to the right."""
    levels = list(accumulate(changes, initial=total))
    low, high = min(levels), max(levels)
    left = max(0.0, low - (high - low)) if low > 0.8 * high else 0.0
    return left, high + 0.3 * (high - left or 1.0)


def _number(axes: Axes, x: float, row: int, text: str) -> None:
    axes.annotate(text, (x, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
