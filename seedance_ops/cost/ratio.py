"""A ratio of sums over runs, with an interval bootstrapped over runs, or why there is none."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from seedance_ops.strict_model import StrictModel

MINIMUM_RUNS = 3
"""With fewer runs no interval is given."""
RESAMPLES = 4000
Values = npt.NDArray[np.float64]
Reason = Literal[
    "no_runs", "too_few_runs", "not_measured", "not_finite", "nothing_done", "never_reached", "no_spread"
]
RATIO_METHOD = "sum over sum; 95 % bootstrap-t over runs, on the log scale"


class UnitCost(StrictModel):
    """A cost per unit of work."""

    judgeable: Literal[True] = True
    name: str
    unit: str
    denominator: str
    """What it is divided by, in words."""
    estimate: float
    low: float
    high: float
    n: int
    """Runs."""
    method: str = RATIO_METHOD


class UnitCostUnknown(StrictModel):
    """Why there is no unit cost, or no interval for it; it never passes a gate."""

    judgeable: Literal[False] = False
    name: str
    unit: str
    reason: Reason
    explanation: str
    estimate: float | None = None
    """The bare ratio, where there is one that only lacks an interval."""


def ratio_of_sums(
    numerator: Values, denominator: Values, *, name: str, unit: str, per: str, scale: float = 1.0, seed: int
) -> UnitCost | UnitCostUnknown:
    """``scale`` × Σ numerator ÷ Σ denominator, and its 95 % interval over runs.

    The sums are taken before dividing, so that a long run weighs what it costs; a mean of the runs' ratios
    would let a run that did little decide. The standard error is the linearised one (Cochran, *Sampling
    Techniques*, 3rd ed., § 6.4): with e = y − R·x, se(R) = √(Σe² / (n(n−1))) / x̄. The interval is the
    bootstrap-t of log R: among the usual bootstraps it is the one that keeps its coverage at n = 5, also
    where costs are skewed, and its bounds are positive.

    Args:
        numerator: y, one value per run; USD or kWh.
        denominator: x, one value per run; work.
        name: What the ratio is called.
        unit: Its unit.
        per: The denominator in words.
        scale: 1000 for a cost of a thousand units.
        seed: Of the resampling.
    """
    fault = _fault(numerator, denominator, per)
    if fault is not None:
        return UnitCostUnknown(name=name, unit=unit, reason=fault[0], explanation=fault[1])
    estimate = float(scale * numerator.sum() / denominator.sum())
    doubt, bounds = _bounds(numerator, denominator, np.random.default_rng(seed))
    if bounds is None:
        assert doubt is not None
        return UnitCostUnknown(name=name, unit=unit, reason=doubt[0], explanation=doubt[1], estimate=estimate)
    return UnitCost(
        name=name, unit=unit, denominator=per, estimate=estimate,
        low=scale * bounds[0], high=scale * bounds[1], n=len(numerator),
    )  # fmt: skip


def _fault(numerator: Values, denominator: Values, per: str) -> tuple[Reason, str] | None:
    """Why there is not even a bare ratio."""
    runs = len(numerator)
    if not runs:
        return "no_runs", "no run was completed"
    if bad := int((~(np.isfinite(numerator) & np.isfinite(denominator))).sum()):
        return "not_finite", f"{bad} of {runs} runs have no finite value"
    if (numerator < 0.0).any() or (denominator < 0.0).any():
        return "not_finite", "a run has a negative value"
    if denominator.sum() <= 0.0:
        return "nothing_done", f"no run did any work: {per} is 0"
    return None


def _bounds(
    numerator: Values, denominator: Values, generator: np.random.Generator
) -> tuple[tuple[Reason, str] | None, tuple[float, float] | None]:
    """The interval's bounds, or why there are none."""
    runs = len(numerator)
    if runs < MINIMUM_RUNS:
        return ("too_few_runs", f"{runs} runs; an interval needs at least {MINIMUM_RUNS}"), None
    if numerator.sum() <= 0.0:
        return ("no_spread", "it cost nothing in every run"), None
    bounds = _bootstrap_t_of_log(numerator, denominator, generator)
    if bounds is None:
        return ("no_spread", "all runs have the same ratio: they say nothing of its spread"), None
    return None, bounds


def _bootstrap_t_of_log(
    numerator: Values, denominator: Values, generator: np.random.Generator
) -> tuple[float, float] | None:
    runs = len(numerator)
    ratio, error = _log_ratio_and_error(numerator[None, :], denominator[None, :])
    if not error[0] > 1e-12:
        return None
    chosen = generator.integers(0, runs, size=(RESAMPLES, runs))
    ratios, errors = _log_ratio_and_error(numerator[chosen], denominator[chosen])
    # A resample of one run only, n times, has no spread: it has no t, and says nothing.
    usable = np.isfinite(ratios) & (errors > 1e-12)
    t = (ratios[usable] - ratio[0]) / errors[usable]
    low_t, high_t = np.quantile(t, [0.025, 0.975])
    return float(np.exp(ratio[0] - high_t * error[0])), float(np.exp(ratio[0] - low_t * error[0]))


def _log_ratio_and_error(numerator: Values, denominator: Values) -> tuple[Values, Values]:
    """Log of the ratio of sums, and its standard error (delta method), of every row."""
    runs = numerator.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = numerator.sum(axis=1) / denominator.sum(axis=1)
        residual = numerator - ratio[:, None] * denominator
        error = np.sqrt((residual**2).sum(axis=1) / (runs * (runs - 1))) / denominator.mean(axis=1)
        return np.log(ratio), np.nan_to_num(error / ratio)
