"""Where the money of a run goes: components from the ledger, unit costs with intervals, what has no price."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from seedance_ops.cost.not_priced import not_priced
from seedance_ops.cost.ratio import UnitCost, UnitCostUnknown
from seedance_ops.cost.run_cost import KEYS
from seedance_ops.cost.unit_costs import unit_costs
from seedance_ops.strict_model import StrictModel

_LABELS = {
    ("train", "accelerator_time"): "training steps",
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
    sums = completed.groupby(["stage", "component", "tier", "variant"], sort=False)["cost_usd"].sum()
    lines = tuple(
        BillLine(
            label=_label(str(stage), str(component), str(tier)),
            stage=str(stage),
            component=str(component),
            tier=str(tier),
            usd_per_run={
                variant: float(sums.get((stage, component, tier, variant), 0.0)) / count
                for variant, count in counts.items()
            },
        )
        for stage, component, tier in dict.fromkeys(key[:3] for key in sums.index)
        if component != "queue"  # shown at price 0: nobody is billed for it
    )
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


def _label(stage: str, component: str, tier: str) -> str:
    known = _LABELS.get((stage, component), component.replace("_", " "))
    return known if tier == "-" else f"{known} ({tier})"
