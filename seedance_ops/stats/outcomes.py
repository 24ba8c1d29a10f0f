"""What a comparison can say: an effect with its interval, or why it cannot be judged."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seedance_ops.strict_model import StrictModel

MINIMUM_RUNS = 3
"""With fewer runs on either side nothing is inferred."""
CONFIDENCE = 0.95
Design = Literal["exact", "welch", "paired"]
Nature = Literal["counted", "measured"]


class NotJudgeable(StrictModel):
    """Why there is no number; it never passes a gate."""

    judgeable: Literal[False] = False
    reason: str


class Interval(StrictModel):
    """An estimate and its bounds: 95 % confidence where inferred, the range where counted."""

    estimate: float
    low: float
    high: float


class Comparison(StrictModel):
    """A treatment against a baseline, over runs."""

    judgeable: Literal[True] = True
    design: Design
    """``paired``: within seeds; ``welch``: unequal variances; ``exact``: counted, nothing inferred."""
    n_treatment: int = Field(ge=MINIMUM_RUNS)
    n_baseline: int = Field(ge=MINIMUM_RUNS)
    difference: Interval
    """Treatment − baseline, of the means."""
    ratio: Interval | None
    """Treatment ÷ baseline, of the geometric means; none where a value is zero or negative."""
    p_value: float | None = Field(default=None, ge=0.0, le=1.0)
    """Two-sided, of no difference; none where counted."""
    hedges_g: float | None = None
    """Difference in average standard deviations, corrected for small samples; none where counted."""
    minimum_detectable_difference: float | None = None
    """The true difference that such a design detects with 80 % power at α 0.05; none where counted."""
    minimum_detectable_change: float | None = None
    """The same as a share of the baseline, on the log scale of ``ratio``; none where there is no ratio."""
    difference_bootstrap_t: Interval | None = None
    """Beside ``difference`` where the runs are skewed; no gate uses it: see ``stats.bootstrap_t``."""
