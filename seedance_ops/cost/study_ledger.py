"""The bill of a whole study, both phases and every take: what adds up to what finding out cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pandas as pd

from seedance_ops.cost.catalogue import Price
from seedance_ops.cost.ledger import ledger_of
from seedance_ops.cost.ledger_table import LEDGER, ledger_frame
from seedance_ops.cost.run_cost import KEYS

EARLIER_TAKE = "earlier_take"
"""The stage of what somebody cleared: no result rests on it, and it was paid for."""


def study_ledger(
    screening: pd.DataFrame | None,
    ledger: pd.DataFrame | None,
    *,
    has_phases: bool,
    reused: Collection[str] = (),
    earlier_launches: pd.DataFrame | None = None,
    prices: Mapping[str, Price] | None = None,
) -> pd.DataFrame:
    """Rows of ``LEDGER`` with their phase, the screening's before the others.

    The phase is that of the table in which a row stands, so that ledgers stored without one get it too.

    Args:
        screening: The ledger of the screening; none where there was none.
        ledger: The ledger of the runs that are judged; none where the study ended with its screening.
        has_phases: Whether the job has them; without, ``phase`` is empty.
        reused: Variants whose runs an earlier study has paid for.
        earlier_launches: Submissions of the takes before the newest; priced as accelerator time alone, in
            stage ``EARLIER_TAKE``, as the study's cost counts them.
        prices: The accelerator's price for each variant; needed where there are earlier launches.

    Raises:
        PriceMissing, BadQuantity: As ``ledger_of``, of the earlier launches.
    """
    parts = [] if screening is None else [screening.assign(phase="screen")]
    if ledger is not None:
        paid_here = ledger[~ledger["variant"].isin(list(reused))]
        cleared = _cleared(earlier_launches, prices or {})
        parts += [part.assign(phase="confirm" if has_phases else "") for part in (paid_here, cleared)]
    billed = [part[list(LEDGER)].astype(LEDGER) for part in parts if len(part)]
    return pd.concat(billed, ignore_index=True) if billed else ledger_frame([])


def _cleared(launches: pd.DataFrame | None, prices: Mapping[str, Price]) -> pd.DataFrame:
    if launches is None or launches.empty:
        return ledger_frame([])
    nothing_known = launches[KEYS].head(0)
    rows = ledger_of(nothing_known, launches, None, prices)
    return rows.assign(stage=rows["stage"].where(rows["stage"] != "run", EARLIER_TAKE))
