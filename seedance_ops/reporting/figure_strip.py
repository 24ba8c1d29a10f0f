"""The strip of runs in the order of time, so that a drift of the machine is seen."""

from __future__ import annotations

from collections.abc import Sequence

from seedance_ops.reporting.figure_style import colour_of, drawing, grid, inline, mark_of
from seedance_ops.reporting.report_model import RunInOrder

_UNITS = ((172_800.0, 86_400.0, "days"), (7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"))


def strip_plot(runs: Sequence[RunInOrder], variants: Sequence[str], label: str) -> str:
    """One mark per billed run: start time across, USD up; hollow where the run did not succeed."""
    shown = [
        (run.started_at_s, run.usd, run.variant, run.state == "succeeded")
        for run in runs
        if run.started_at_s is not None and run.usd is not None
    ]
    first = min(started for started, *_ in shown)
    span = max(started for started, *_ in shown) - first
    seconds, unit = next(((size, name) for least, size, name in _UNITS if span >= least), (1.0, "seconds"))
    with drawing("strip", 8.2, 2.9) as (figure, axes):
        for place, variant in enumerate(variants):
            for ended_well in (True, False):
                marks = [(started, usd) for started, usd, *kind in shown if kind == [variant, ended_well]]
                if not marks:
                    continue
                axes.plot(
                    [(started - first) / seconds for started, _ in marks],
                    [usd for _, usd in marks],
                    linestyle="none",
                    marker=mark_of(place),
                    markersize=6,
                    color=colour_of(place),
                    markerfacecolor=colour_of(place) if ended_well else "none",
                    label=variant if ended_well else f"{variant} (not succeeded)",
                )
        axes.set_xlabel(f"start, {unit} after the first")
        axes.set_ylabel("USD per run")
        grid(axes, "y")
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return inline(figure, "strip", label)
