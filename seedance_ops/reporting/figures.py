"""The figures of effects and of losses."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from seedance_ops.quality.wording import interval, percent
from seedance_ops.reporting.figure_style import TEXT, colour_of, dash_of, drawing, grid, inline
from seedance_ops.reporting.report_model import Curve, Effect

WIDEST_CHANGE = 3.0
"""The axis of changes ends at +300 %, or at a bound beyond, so that one wild interval flattens no other."""


def forest_plot(
    effects: Sequence[Effect], variants: Sequence[str], label: str, *, prefix: str = "forest"
) -> str:
    """Relative change and interval of each metric and variant, with its gate's bound, or margin as a band."""
    with drawing(prefix, 8.2, 1.0 + 0.3 * len(effects)) as (figure, axes):
        limit = axis_limit(effects)
        for row, effect in enumerate(reversed(effects)):
            _effect(axes, row, effect, colour_of(variants.index(effect.variant)), limit)
        if any(effect.high > limit for effect in effects):
            axes.set_xlim(right=limit)
        axes.axvline(0.0, color=TEXT, linewidth=0.8)
        axes.set_yticks(range(len(effects)))
        axes.set_yticklabels([f"{effect.metric} · {effect.variant}" for effect in reversed(effects)])
        axes.set_ylim(-0.6, len(effects) - 0.4)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
        axes.set_xlabel("change against the baseline")
        grid(axes, "x")
        return inline(figure, prefix, label)


def curves_plot(curves: Sequence[Curve], variants: Sequence[str], label: str, *, prefix: str) -> str:
    """One line per run, one colour and dash per variant; ``prefix`` keeps its ids apart from others'."""
    with drawing(prefix, 6.2, 3.8) as (figure, axes):
        at_one_place = len({samples for curve in curves for samples in curve.samples}) == 1
        named: set[str] = set()
        for curve in curves:
            place = variants.index(curve.variant)
            axes.plot(
                curve.samples,
                curve.values,
                color=colour_of(place),
                linestyle=dash_of(place),
                linewidth=1.1,
                alpha=0.8,
                marker="o" if len(curve.samples) < 12 else None,
                markersize=6 if len(curve.samples) == 1 else 3,
                label=None if curve.variant in named else curve.variant,
            )
            named.add(curve.variant)
        if at_one_place:
            axes.set_xticks(curves[0].samples)
        axes.set_xlabel("samples")
        axes.set_ylabel(curves[0].metric)
        grid(axes)
        axes.legend(frameon=False, fontsize=8 if len(named) > 5 else None)
        return inline(figure, prefix, label)


def axis_limit(effects: Sequence[Effect]) -> float:
    """The largest change that is drawn at its place; a number stands for what lies beyond."""
    demanded = [value for effect in effects for value in (effect.bound, effect.margin) if value is not None]
    return max([WIDEST_CHANGE, *demanded])


def _effect(axes: Axes, row: int, effect: Effect, colour: str, limit: float) -> None:
    if effect.margin is not None:
        band = Rectangle((-effect.margin, row - 0.4), 2 * effect.margin, 0.8, facecolor=TEXT, alpha=0.16)
        axes.add_patch(band)
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
        axes.plot([effect.bound] * 2, [row - 0.35, row + 0.35], color=TEXT, linewidth=1.6, linestyle=":")
