"""What a ledger lacks, and why: a reader must not take absence for zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from seedance_ops.cost.ledger_table import BYTES_PER_GB, no_usage
from seedance_ops.cost.usage import known_usage, runs_unknown

_WHERE_RIGHT = {
    "requests": "",
    "egress": "; right where the object store is in the same region",
    "energy": "; right where the accelerator's price includes power",
}
_RECORDED = {
    "requests": "{:.0f} requests were counted; no price per 1,000 was given",
    "egress": "{:.3g} GB were sent to the object store; no price per GB was given",
    "energy": "{:.3g} kWh were measured; no tariff was given",
}


@dataclass(frozen=True)
class NotPriced:
    """A component that is in no row, and why."""

    component: str
    tier: str
    reason: str


def not_priced(
    ledger: pd.DataFrame,
    checkpoint_writes: pd.DataFrame | None = None,
    usage: pd.DataFrame | None = None,
) -> tuple[NotPriced, ...]:
    """Every component that the ledger lacks.

    Args:
        ledger: Rows of ``ledger_of``.
        checkpoint_writes: As ``ledger_of`` took them.
        usage: As ``ledger_of`` took it.
    """
    there = set(zip(ledger["component"], ledger["tier"], strict=True))
    return (
        *_host(there),
        *_storage(there, checkpoint_writes),
        *_usage(there, no_usage() if usage is None else usage),
    )


def _host(there: set[tuple[str, str]]) -> Iterator[NotPriced]:
    if ("host", "-") not in there:
        reason = "no price of a node's hour was given; right where the accelerator's price includes the host"
        yield NotPriced("host", "-", reason)


def _storage(there: set[tuple[str, str]], writes: pd.DataFrame | None) -> Iterator[NotPriced]:
    if writes is None or writes.empty:
        if not any(component == "storage" for component, _ in there):
            reason = "no checkpoint was written, or no price of a GB·month was given"
            yield NotPriced("storage", "-", reason)
        return
    written = writes.groupby("tier")["bytes"].sum() / BYTES_PER_GB
    for tier in written.index:
        if ("storage", tier) not in there:
            yield NotPriced("storage", str(tier), f"{written[tier]:.3g} GB were written; no price was given")


def _usage(there: set[tuple[str, str]], usage: pd.DataFrame) -> Iterator[NotPriced]:
    recorded = known_usage(usage).groupby(["component", "tier"])["quantity"].sum()
    for component, words in _RECORDED.items():
        tiers = [tier for name, tier in recorded.index if name == component]
        for tier in tiers:
            if (component, tier) not in there:
                reason = words.format(recorded[component, tier]) + _WHERE_RIGHT[component]
                yield NotPriced(component, tier, reason)
        unknown = runs_unknown(usage, component)
        if not tiers and component not in {name for name, _ in there}:
            yield NotPriced(component, "-", "not measured")
        elif unknown:
            yield NotPriced(component, "-", f"not measured in {unknown} runs: it is in none of their rows")
