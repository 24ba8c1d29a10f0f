"""The figure of cost against quality, with a cross of intervals at each variant."""

from __future__ import annotations

from collections.abc import Sequence

from seedance_ops.reporting.figure_style import TEXT, colour_of, drawing, grid, inline, mark_of
from seedance_ops.reporting.pareto import Pareto


def pareto_plot(pareto: Pareto, variants: Sequence[str], label: str) -> str:
    """Dominated variants are hollow; a line joins the others in the order of cost."""
    with drawing("pareto", 8.2, 4.2) as (figure, axes):
        front = sorted((p for p in pareto.points if not p.dominated_by), key=lambda point: point.cost)
        axes.plot(
            [point.cost for point in front],
            [point.quality for point in front],
            color=TEXT,
            alpha=0.35,
            linewidth=1.0,
            linestyle=":",
        )
        for point in pareto.points:
            place = variants.index(point.variant)
            colour = colour_of(place)
            if (across := point.cost_interval) is not None:
                axes.plot([across.low, across.high], [point.quality] * 2, color=colour, linewidth=1.6)
            if (up := point.quality_interval) is not None:
                axes.plot([point.cost] * 2, [up.low, up.high], color=colour, linewidth=1.6)
            axes.plot(
                [point.cost],
                [point.quality],
                linestyle="none",
                marker=mark_of(place),
                markersize=8,
                color=colour,
                markerfacecolor="none" if point.dominated_by else colour,
                markeredgewidth=1.8,
                label=f"{point.variant} (dominated)" if point.dominated_by else point.variant,
            )
        axes.set_xlabel(f"{pareto.cost_metric} ({pareto.cost_unit})")
        axes.set_ylabel(_titled(pareto))
        grid(axes)
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return inline(figure, "pareto", label)


def _titled(pareto: Pareto) -> str:
    unit = "" if pareto.quality_unit == "1" else f" ({pareto.quality_unit})"
    return f"{pareto.quality_metric}{unit}"
