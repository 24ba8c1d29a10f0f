"""The figure of throughput against quality: what was measured, and beside it what others have published."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes

from seedance_ops.reporting.figure_style import TEXT, colour_of, grid, mark_of, panels
from seedance_ops.reporting.throughput_front import FrontPoint, PublishedPoint, ThroughputFront

_DOMINATED = "#b3b9c1"
_INTERVAL_WIDTH = 1.6


def write_front(front: ThroughputFront, file: Path) -> None:
    """Draw the front into a file, in the form that its suffix says (svg, png, pdf).

    Raises:
        ValueError: matplotlib writes no files of that suffix.
    """
    count = 2 if front.published else 1
    with panels("front", 6.2 * count, 5.2, count) as (figure, axes):
        _draw_measured(axes[0], front)
        if front.published:
            _draw_published(axes[1], front.published)
        figure.savefig(file)


def _draw_measured(axes: Axes, front: ThroughputFront) -> None:
    """Dominated variants are grey; a line joins the others in the order of throughput."""
    best = sorted((p for p in front.points if not p.dominated), key=lambda point: point.throughput.mean)
    axes.plot(
        [point.throughput.mean for point in best],
        [point.quality.mean for point in best],
        color=TEXT, alpha=0.35, linewidth=1.0, linestyle=":",
    )  # fmt: skip
    for place, point in enumerate(front.points):
        _draw_point(axes, point, _DOMINATED if point.dominated else colour_of(place), mark_of(place))
    unit = "" if front.quality_unit == "1" else f" ({front.quality_unit})"
    axes.set_title("Measured in this run: means, 95 % intervals", fontsize=10)
    axes.set_xlabel(f"{front.throughput_metric} ({front.throughput_unit}), higher is better")
    axes.set_ylabel(f"{front.quality_metric}{unit}, {front.quality_better} is better")
    grid(axes)
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


def _draw_point(axes: Axes, point: FrontPoint, colour: str, mark: str) -> None:
    across, up = point.throughput, point.quality
    if across.low is not None and across.high is not None:
        axes.plot([across.low, across.high], [up.mean] * 2, color=colour, linewidth=_INTERVAL_WIDTH)
    if up.low is not None and up.high is not None:
        axes.plot([across.mean] * 2, [up.low, up.high], color=colour, linewidth=_INTERVAL_WIDTH)
    label = f"{point.variant} (dominated)" if point.dominated else point.variant
    axes.plot(
        [across.mean], [up.mean], linestyle="none", marker=mark, markersize=8, color=colour, label=label
    )


def _draw_published(axes: Axes, published: tuple[PublishedPoint, ...]) -> None:
    for point in published:
        at = (point.throughput_tflops, point.accuracy_drop_percent)
        axes.plot(*at, linestyle="none", marker="*", markersize=13, color=TEXT, markerfacecolor="none")
        axes.annotate(point.name, at, xytext=(0, 9), textcoords="offset points", fontsize=8, ha="center")
    axes.margins(0.3)
    axes.set_title("Published, not measured: another cluster, other scales", fontsize=10)
    axes.set_xlabel("TFLOPS, as published")
    axes.set_ylabel("drop of top-1 accuracy (%), as published, lower is better")
    grid(axes)
