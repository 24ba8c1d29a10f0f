"""How many runs a gate needs: from the spread of a pilot or of history, before anything is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import special

from seedance_ops.stats.change import NO_RATIO, ChangeScale, on_scale
from seedance_ops.stats.interval_power import Room, power_of_interval, power_of_welch_interval
from seedance_ops.stats.outcomes import MINIMUM_RUNS, NotJudgeable
from seedance_ops.stats.samples import (
    NO_SPREAD,
    ROUNDING,
    Values,
    is_constant,
    pairable,
    rounding_of,
    sample_of,
)
from seedance_ops.strict_model import StrictModel

TARGET_POWER = 0.8
MOST_RUNS = 10_000
"""Per variant; a plan beyond this is no plan."""


class Spread(StrictModel):
    """How much runs of the same thing differ, and where that is known from."""

    judgeable: Literal[True] = True
    sd: float = Field(gt=0.0)
    """Of runs (``welch``) or of the differences within seeds (``paired``); of logs on the relative scale."""
    scale: ChangeScale
    design: Literal["welch", "paired"]
    degrees_of_freedom: int = Field(ge=1)
    """Of ``sd``."""
    source: str
    """In words: ``pilot of 2 variants × 5 seeds``, ``the last 20 accepted runs``."""

    def upper(self, confidence: float = 0.8) -> float:
        """The one-sided upper confidence limit of ``sd``: √(df ÷ χ²) (Browne 1995, Stat. Med. 14).

        Planned with ``sd`` itself, about every second pilot leads to a study of less than the power aimed at.
        """
        freedom = self.degrees_of_freedom
        return self.sd * float(np.sqrt(freedom / special.chdtri(freedom, confidence)))


@dataclass(frozen=True)
class Demand:
    """Where the interval of the change must lie for a gate to pass; a share on the relative scale."""

    lowest: float | None
    highest: float | None
    alpha: float
    """One-sided: 0.025 where an end of a 95 % interval is judged, 0.05 in TOST and non-inferiority."""

    @classmethod
    def change_at_most(cls, bound: float, alpha: float = 0.025) -> Demand:
        """As the gate of this name."""
        return cls(None, bound, alpha)

    @classmethod
    def change_at_least(cls, bound: float, alpha: float = 0.025) -> Demand:
        """As the gate of this name."""
        return cls(bound, None, alpha)

    @classmethod
    def equivalent_within(cls, margin: float, alpha: float = 0.05) -> Demand:
        """As the gate of this name."""
        return cls(-margin, margin, alpha)

    @classmethod
    def non_inferior(cls, margin: float, better: Literal["lower", "higher"], alpha: float = 0.05) -> Demand:
        """As ``stats.non_inferiority``."""
        return cls(None, margin, alpha) if better == "lower" else cls(-margin, None, alpha)


class SeedPlan(StrictModel):
    """Runs per variant, and what was assumed to arrive at them."""

    judgeable: Literal[True] = True
    n_per_variant: int = Field(ge=MINIMUM_RUNS)
    power: float = Field(ge=0.0, le=1.0)
    """Reached with ``n_per_variant`` if the assumptions hold."""
    n_per_variant_cautious: int | None
    """The same if the spread is at its 80 % upper confidence limit; none where above ``MOST_RUNS``."""
    target_power: float
    alpha: float
    expected_change: float
    """Assumed to be true: in the metric's unit, or as a share."""
    spread: Spread


def spread_of(
    variants: Sequence[pd.Series[float]], *, scale: ChangeScale, source: str
) -> Spread | NotJudgeable:
    """The spread between runs, pooled over variants; each has one value per run, indexed by its seed.

    ``NotJudgeable`` for no variant, as ``compare`` for any one of them, and where nothing varies.
    """
    if not variants:
        return NotJudgeable(reason="there is no run to learn the spread from")
    squares, freedom = 0.0, 0
    constant = True
    for series in variants:
        sample = _scaled(sample_of(series, "the pilot"), scale)
        if isinstance(sample, NotJudgeable):
            return sample
        squares += float(((sample - sample.mean()) ** 2).sum())
        freedom += len(sample) - 1
        constant = constant and is_constant(sample, rounding=ROUNDING if scale == "relative" else None)
    if constant:
        return NotJudgeable(reason=NO_SPREAD)
    sd = float(np.sqrt(squares / freedom))
    return Spread(sd=sd, scale=scale, design="welch", degrees_of_freedom=freedom, source=source)


def spread_of_differences(
    treatment: pd.Series[float], baseline: pd.Series[float], *, scale: ChangeScale, source: str
) -> Spread | NotJudgeable:
    """The spread of the differences within seeds, for a design that is paired."""
    samples = pairable(treatment, baseline, pairs_by_seed=True)
    if isinstance(samples, NotJudgeable):
        return samples
    if not samples.paired:
        return NotJudgeable(reason="the two have not the same seeds, so there are no pairs")
    ours, theirs = _scaled(samples.treatment, scale), _scaled(samples.baseline, scale)
    if isinstance(ours, NotJudgeable):
        return ours
    if isinstance(theirs, NotJudgeable):
        return theirs
    differences = ours - theirs
    rounding = ROUNDING if scale == "relative" else rounding_of(np.concatenate([ours, theirs]))
    if is_constant(differences, rounding=rounding):
        return NotJudgeable(reason="the paired differences do not vary, so their error is unknown")
    return Spread(
        sd=float(differences.std(ddof=1)),
        scale=scale,
        design="paired",
        degrees_of_freedom=len(differences) - 1,
        source=source,
    )


def runs_needed(
    spread: Spread | NotJudgeable,
    demand: Demand,
    *,
    expected_change: float = 0.0,
    target_power: float = TARGET_POWER,
) -> SeedPlan | NotJudgeable:
    """The fewest runs per variant with which the gate passes in ``target_power`` of studies.

    Assumes equal spread in both variants and the change ``expected_change``. ``NotJudgeable`` where that
    does not meet the demand itself, or more than ``MOST_RUNS`` would be needed.
    """
    if isinstance(spread, NotJudgeable):
        return spread
    if not np.isfinite(expected_change) or not 0.0 < target_power < 1.0 or not 0.0 < demand.alpha < 0.5:
        return NotJudgeable(reason="the expected change must be finite, power and α shares below 1 and 0.5")
    if not _meets(expected_change, demand, spread.scale):
        return NotJudgeable(
            reason=f"a change of {expected_change:g} does not meet the gate, so no number of runs shows it"
        )
    n = _fewest(spread.sd, spread, demand, expected_change, target_power)
    if n is None:
        return NotJudgeable(reason=f"more than {MOST_RUNS} runs per variant would be needed")
    return SeedPlan(
        n_per_variant=n,
        power=power_with(n, spread.sd, spread, demand, expected_change),
        n_per_variant_cautious=_fewest(spread.upper(), spread, demand, expected_change, target_power),
        target_power=target_power,
        alpha=demand.alpha,
        expected_change=expected_change,
        spread=spread,
    )


def power_with(n: int, sd: float, spread: Spread, demand: Demand, expected_change: float) -> float:
    """The chance that ``n`` runs per variant pass, with runs (or differences) of deviation ``sd``."""
    lowest = -np.inf if demand.lowest is None else on_scale(demand.lowest, spread.scale)
    highest = np.inf if demand.highest is None else on_scale(demand.highest, spread.scale)
    room = Room(
        lowest - on_scale(expected_change, spread.scale), highest - on_scale(expected_change, spread.scale)
    )
    if spread.design == "paired":
        return power_of_interval(room, sd / np.sqrt(n), n - 1, demand.alpha)
    return power_of_welch_interval(room, sd, n, demand.alpha)


def _scaled(sample: Values | NotJudgeable, scale: ChangeScale) -> Values | NotJudgeable:
    if isinstance(sample, NotJudgeable) or scale == "absolute":
        return sample
    return NotJudgeable(reason=NO_RATIO) if sample.min() <= 0.0 else np.log(sample)


def _meets(change: float, demand: Demand, scale: ChangeScale) -> bool:
    if scale == "relative" and change <= -1.0:
        return False
    above = demand.lowest is None or change > demand.lowest
    return above and (demand.highest is None or change < demand.highest)


def _fewest(sd: float, spread: Spread, demand: Demand, change: float, target: float) -> int | None:
    """By bisection: power grows with the number of runs."""
    high = MINIMUM_RUNS
    while power_with(high, sd, spread, demand, change) < target:
        if high >= MOST_RUNS:
            return None
        high = min(2 * high, MOST_RUNS)
    low = MINIMUM_RUNS - 1
    while high - low > 1:
        middle = (low + high) // 2
        if power_with(middle, sd, spread, demand, change) < target:
            low = middle
        else:
            high = middle
    return high
