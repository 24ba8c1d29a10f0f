"""Caption, words and SVG of every figure that a report has something to show in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from seedance_ops.quality import wording
from seedance_ops.reporting.bill import steps_between
from seedance_ops.reporting.figure_pareto import pareto_plot
from seedance_ops.reporting.figure_strip import strip_plot
from seedance_ops.reporting.figure_waterfall import waterfall_plot
from seedance_ops.reporting.figures import axis_limit, curves_plot, forest_plot
from seedance_ops.reporting.pareto import Pareto, ParetoPoint
from seedance_ops.reporting.report_model import Effect, Report, RunInOrder
from seedance_ops.reporting.strategy_table import leading_metrics

MOST_WATERFALLS = 12
"""So that a page of many variants stays within a megabyte."""


@dataclass(frozen=True)
class PageFigure:
    """One figure as the page shows it."""

    name: str
    """A few words, for who jumps between figures."""
    caption: str
    svg: Markup


@dataclass(frozen=True)
class PageFigures:
    """The figures in the order of the page."""

    forest: tuple[PageFigure, ...]
    """Of what decides: cost, quality and whatever a gate judges."""
    more_effects: tuple[PageFigure, ...]
    pareto: tuple[PageFigure, ...]
    waterfalls: tuple[PageFigure, ...]
    curves: tuple[PageFigure, ...]
    strip: tuple[PageFigure, ...]


def figures_of(report: Report) -> PageFigures:
    """Every figure; a group is empty where there is nothing to draw."""
    variants = [row.variant for row in report.strategies]
    leading = leading_metrics(report.columns, report.effects)
    first = [effect for effect in report.effects if effect.metric in leading]
    rest = [effect for effect in report.effects if effect.metric not in leading]
    return PageFigures(
        forest=tuple(_forest(first, variants, "Effects", "forest")),
        more_effects=tuple(_forest(rest, variants, "Other effects", "effects")),
        pareto=tuple(_pareto(report.pareto, variants)),
        waterfalls=tuple(_waterfalls(report)),
        curves=tuple(_curves(report, variants)),
        strip=tuple(_strip(report.order, variants)),
    )


def _figure(name: str, caption: str, svg: str) -> PageFigure:
    return PageFigure(name, caption, Markup(svg))  # noqa: S704 - matplotlib escapes its text, ``inline`` the label


def _forest(effects: list[Effect], variants: list[str], name: str, prefix: str) -> Iterator[PageFigure]:
    if not effects:
        return
    caption = "Change against the baseline with its 95 % interval (diamond: counted, range)."
    if any(effect.bound is not None for effect in effects):
        caption += " A dotted mark is the bound of a gate."
    if any(effect.margin is not None for effect in effects):
        caption += (
            " A grey band is the margin of an equivalence gate, which holds the 90 % interval against it; "
            "an absolute margin is drawn as a share of the baseline's mean."
        )
    if any(effect.high > axis_limit(effects) for effect in effects):
        caption += " An arrow leads beyond the axis, to the number beside it."
    spoken = "; ".join(_spoken_effect(effect) for effect in effects)
    yield _figure(name, caption, forest_plot(effects, variants, f"Forest plot. {spoken}", prefix=prefix))


def _spoken_effect(effect: Effect) -> str:
    text = (
        f"{effect.metric} of {effect.variant} {wording.percent(effect.change)} "
        f"{wording.interval(effect.low, effect.high, as_percent=True)}"
    )
    if effect.bound is not None:
        text += f", bound {wording.percent(effect.bound)}"
    if effect.margin is not None:
        text += f", margin ±{wording.percent(effect.margin, signed=False)}"
    return text


def _pareto(pareto: Pareto | None, variants: list[str]) -> Iterator[PageFigure]:
    if pareto is None:
        return
    better = {"lower": "lower is better", "higher": "higher is better", "none": "neither way is better"}
    caption = (
        f"{pareto.cost_metric} against {pareto.quality_metric} ({better[pareto.better]}): means over runs; "
        "crosses are 95 % intervals. Hollow: another variant's means are no worse in both and better in one; "
        "where crosses overlap, the order is not shown to be real."
    )
    spoken = "; ".join(_spoken_point(point, pareto) for point in pareto.points)
    yield _figure("Cost against quality", caption, pareto_plot(pareto, variants, f"Scatter plot. {spoken}"))


def _spoken_point(point: ParetoPoint, pareto: Pareto) -> str:
    dominated = f", dominated by {', '.join(point.dominated_by)}" if point.dominated_by else ""
    return (
        f"{point.variant}: {wording.number(point.cost)} {pareto.cost_unit}, "
        f"{pareto.quality_metric} {wording.number(point.quality)}{dominated}"
    )


def _waterfalls(report: Report) -> Iterator[PageFigure]:
    """One per variant, what was accepted first; the table beneath has those beyond ``MOST_WATERFALLS``."""
    bill, baseline = report.bill, report.baseline
    if bill is None or baseline not in bill.runs:
        return
    answered = [answer.variant for answer in report.answers if answer.variant in bill.runs]
    for place, variant in enumerate(answered[:MOST_WATERFALLS]):
        spoken = "; ".join(
            f"{label} {wording.number(change, signed=True)}"
            for label, change in steps_between(bill, baseline, variant)
        )
        words = (
            f"From {wording.number(bill.total_usd[baseline])} USD per run of {baseline} to "
            f"{wording.number(bill.total_usd[variant])} of {variant}"
        )
        svg = waterfall_plot(
            bill, baseline, variant, f"Waterfall. {words}: {spoken}", prefix=f"waterfall-{place}"
        )
        yield _figure(f"Bill of {variant}", f"{words}, component by component.", svg)


def _curves(report: Report, variants: list[str]) -> Iterator[PageFigure]:
    for place, metric in enumerate(dict.fromkeys(curve.metric for curve in report.curves)):
        curves = [curve for curve in report.curves if curve.metric == metric]
        form = "dot" if all(len(curve.samples) == 1 for curve in curves) else "line"
        caption = f"{metric} over the samples seen, one {form} per run."
        spoken = f"{caption} {_last_values(report, metric)}"
        yield _figure(metric, caption, curves_plot(curves, variants, spoken, prefix=f"curves-{place}"))


def _last_values(report: Report, metric: str) -> str:
    last: dict[str, list[float]] = {}
    for curve in report.curves:
        if curve.metric == metric:
            last.setdefault(curve.variant, []).append(curve.values[-1])
    return "; ".join(
        f"{name} ends between {wording.number(min(ends))} and {wording.number(max(ends))}"
        for name, ends in last.items()
    )


def _strip(runs: tuple[RunInOrder, ...], variants: list[str]) -> Iterator[PageFigure]:
    billed = [run for run in runs if run.started_at_s is not None and run.usd is not None]
    if not billed or not {run.variant for run in billed} <= set(variants):
        return
    caption = "USD of every run at the time of its start, one mark per run. A slope common to all is drift."
    usd: dict[str, list[float]] = {}
    for run in billed:
        usd.setdefault(run.variant, []).append(run.usd or 0.0)
    spoken = "; ".join(
        f"{name}: {len(costs)} runs of {wording.number(min(costs))} to {wording.number(max(costs))} USD"
        for name, costs in usd.items()
    )
    yield _figure("Runs in time", caption, strip_plot(runs, variants, f"{caption} {spoken}"))
