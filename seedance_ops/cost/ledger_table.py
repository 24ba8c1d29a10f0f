"""The ledger's columns, and how its rows are told apart."""

from __future__ import annotations

import pandas as pd

LEDGER = {
    "variant": "str",
    "seed": "int64",
    "phase": "str",
    "stage": "str",
    "component": "str",
    "tier": "str",
    "quantity": "float64",
    "unit": "str",
    "unit_price_usd": "float64",
    "cost_usd": "float64",
    "source": "str",
    "price_key": "str",
    "price_date": "str",
    "price_basis": "str",
    "started_at_s": "float64",
    "ended_at_s": "float64",
}
"""Columns and types: one row per variant, seed, stage, component and tier, over all submissions of a take.

- ``phase``: ``screen`` or ``confirm``; empty in a job without phases, and until ``study_ledger`` joins both.
- ``stage``: ``train``, ``checkpoint`` (training stood still for one), ``overhead`` (start-up, evaluation,
  waiting between), ``queue``, or ``run`` where the parts are not known.
- ``component``: one of ``COMPONENTS``; ``tier``: storage tier, class of request, or of training the resource
  on its critical path (``compute``, ``network``), else ``-``.
- ``cost_usd`` = quantity × unit_price_usd.
- ``source``: where the price is from: ``catalogue`` or ``user``; ``measured``: a quantity without a price.
- ``started_at_s``, ``ended_at_s``: Unix time of the run's first start and last end; NaN where unknown.
"""

BYTES_PER_GB = 1e9
COMPONENTS = ("accelerator_time", "idle", "queue", "host", "storage", "requests", "egress", "energy")
BILLED_BY_THE_HOUR = ("accelerator_time", "idle")
"""What ``usd_per_run`` is made of; the other components come on top of it."""

USAGE = {
    "variant": "str",
    "seed": "int64",
    "stage": "str",
    "component": "str",
    "tier": "str",
    "quantity": "float64",
}
"""What runs recorded: ``requests`` (count, by class), ``egress`` (GB), ``energy`` (kWh); missing: unknown."""

UNITS = {
    "accelerator_time": "accelerator·h",
    "idle": "accelerator·h",
    "queue": "accelerator·h",
    "host": "node·h",
    "storage": "GB·month",
    "requests": "1000 requests",
    "egress": "GB",
    "energy": "kWh",
}


def ledger_frame(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Rows as a ledger, in its order, also when there are none."""
    frame = pd.DataFrame(rows, columns=list(LEDGER)).astype(LEDGER)
    return frame.sort_values(["variant", "seed"], kind="stable", ignore_index=True)


def no_usage() -> pd.DataFrame:
    """A usage table without rows."""
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in USAGE.items()})
