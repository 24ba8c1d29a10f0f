"""Where the money of a run goes: components from the ledger, unit costs with intervals, what has no price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from seedance_ops.cost.ledger_table import BILLED_BY_THE_HOUR
from seedance_ops.cost.not_priced import not_priced
from seedance_ops.cost.ratio import UnitCost, UnitCostUnknown
from seedance_ops.cost.run_cost import KEYS
from seedance_ops.cost.unit_costs import unit_costs
from seedance_ops.strict_model import StrictModel

_PATH_LABELS = {
    ("train", "accelerator_time", "compute"): "computing, memory included",
    ("train", "accelerator_time", "network"): "waiting for the network",
}
_LABELS = {
    ("train", "accelerator_time"): "training steps, not split",
    ("train", "idle"): "idle within steps",
    ("checkpoint", "accelerator_time"): "standing still for checkpoints",
    ("overhead", "idle"): "start-up, evaluation, waiting",
    ("run", "accelerator_time"): "accelerators, not split",
    ("checkpoint", "requests"): "requests while saving",
    ("checkpoint", "egress"): "egress while saving",
    ("checkpoint", "energy"): "energy while saving",
}


class BillLine(StrictModel):
    """One component of the bill, as the mean over each variant's completed runs."""

    label: str
    stage: str
    component: str
    tier: str
    usd_per_run: dict[str, float]
    """By variant; 0 where the variant has no such row."""
    accelerator_hours_per_run: dict[str, float] | None = None
    """By variant; none where the component is not accelerator time."""


class Unpriced(StrictModel):
    """A component that is in no figure of this report."""

    component: str
    tier: str
    reason: str


class Bill(StrictModel):
    """The bill of one run of each variant, taken apart."""

    lines: tuple[BillLine, ...]
    total_usd: dict[str, float]
    """Mean over completed runs, by variant: the sum of the lines."""
    runs: dict[str, int]
    """Completed runs that the means are over."""
    unit_costs: dict[str, tuple[UnitCost | UnitCostUnknown, ...]]
    not_priced: tuple[Unpriced, ...] = ()

    def time_share(self, line: BillLine, variant: str) -> float | None:
        """A line's share of the variant's billed accelerator time: a ratio of sums over its runs."""
        if line.accelerator_hours_per_run is None:
            return None
        hours = (other.accelerator_hours_per_run for other in self.lines)
        billed_h = sum(of_line[variant] for of_line in hours if of_line is not None)
        return line.accelerator_hours_per_run[variant] / billed_h if billed_h > 0.0 else None


def bill_of(
    variants: Iterable[str],
    ledger: pd.DataFrame,
    *,
    runs: pd.DataFrame,
    costs: pd.DataFrame,
    checkpoint_writes: pd.DataFrame,
    usage: pd.DataFrame | None = None,
) -> Bill | None:
    """The bill of the completed runs; none where no run was completed.

    Args:
        variants: In the order of the report.
        ledger: Rows of ``cost.ledger.ledger_of``.
        runs: The run table: completed runs alone.
        costs: What ``price_runs`` says of them.
        checkpoint_writes: What was written, so that storage without a price is named.
        usage: What was used beside accelerator time, for the same reason.
    """
    if runs.empty:
        return None
    completed = ledger.merge(runs[KEYS], on=KEYS, how="inner")
    of_variant = runs["variant"].value_counts()
    counts = {name: int(of_variant[name]) for name in variants if name in of_variant}
    found = unit_costs(runs, costs, energy=runs if "energy_kwh" in runs else None)
    lines = _lines_of(completed, counts)
    return Bill(
        lines=lines,
        total_usd={name: sum(line.usd_per_run[name] for line in lines) for name in counts},
        runs=counts,
        unit_costs={name: found[name] for name in counts},
        not_priced=tuple(
            Unpriced(component=gone.component, tier=gone.tier, reason=gone.reason)
            for gone in not_priced(ledger, checkpoint_writes, usage)
        ),
    )


def steps_between(bill: Bill, baseline: str, variant: str) -> list[tuple[str, float]]:
    """What each component adds to the baseline's bill, or takes from it, USD; they sum to the difference."""
    changes = [(line.label, line.usd_per_run[variant] - line.usd_per_run[baseline]) for line in bill.lines]
    return [(label, change) for label, change in changes if change != 0.0]


def _lines_of(completed: pd.DataFrame, counts: Mapping[str, int]) -> tuple[BillLine, ...]:
    keys = ["stage", "component", "tier", "variant"]
    sums = completed.groupby(keys, sort=False)[["cost_usd", "quantity"]].sum()
    usd, quantities = sums["cost_usd"], sums["quantity"]
    return tuple(
        BillLine(
            label=_label(str(stage), str(component), str(tier)),
            stage=str(stage),
            component=str(component),
            tier=str(tier),
            usd_per_run=_per_run(usd, (stage, component, tier), counts),
            accelerator_hours_per_run=_per_run(quantities, (stage, component, tier), counts)
            if component in BILLED_BY_THE_HOUR
            else None,
        )
        for stage, component, tier in dict.fromkeys(key[:3] for key in sums.index)
        if component != "queue"  # shown at price 0: nobody is billed for it
    )


def _per_run(
    sums: pd.Series[float], line: tuple[str, str, str], counts: Mapping[str, int]
) -> dict[str, float]:
    return {variant: float(sums.get((*line, variant), 0.0)) / count for variant, count in counts.items()}


def _label(stage: str, component: str, tier: str) -> str:
    if of_path := _PATH_LABELS.get((stage, component, tier)):
        return of_path
    known = _LABELS.get((stage, component), component.replace("_", " "))
    return known if tier == "-" else f"{known} ({tier})"
