"""A ratio of sums over runs, with an interval bootstrapped over runs, or why there is none."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student_t

from seedance_ops.strict_model import StrictModel

MINIMUM_RUNS = 3
"""With fewer runs no interval is given."""
RESAMPLES = 4000
NO_SPREAD = 1e-12
"""Standard error of a log ratio below which runs differ by rounding alone."""
Values = npt.NDArray[np.float64]
Reason = Literal[
    "no_runs",
    "too_few_runs",
    "not_measured",
    "not_finite",
    "nothing_done",
    "never_reached",
    "no_spread",
    "no_interval",
    "never_pays",
    "other_accelerators",
]
BOOTSTRAP_FROM = 10
"""Runs from which the interval is bootstrapped."""
BOOTSTRAP_T = "sum over sum; 95 % bootstrap-t over runs, on the log scale"
STUDENT_T = "sum over sum; 95 % Student t of the log ratio over runs (delta method)"


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
    method: str


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
    Techniques*, 3rd ed., § 6.4): with e = y − R·x, se(R) = √(Σe² / (n(n−1))) / x̄. Intervals are of log R, so
    their bounds are positive.

    From ten runs on the interval is the bootstrap-t. With fewer it is Student's t: resamples of few runs are
    often one run several times, without a spread to studentise by. Coverage in 800 simulations, bootstrap-t
    against Student t: normal, n = 3: 82 % and 96 %, n = 5: 95 and 96 (intervals a third wider); lognormal
    (σ 0.5) n = 3: 76 and 94, n = 10: 94 and 94; lognormal (σ 1) n = 10: 90 and 87, n = 30: 91 and 88.
    Percentile and BCa intervals cover less than either.

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
    runs = len(numerator)
    doubt, bounds = _bounds(numerator, denominator, np.random.default_rng(seed))
    if bounds is None:
        assert doubt is not None
        return UnitCostUnknown(name=name, unit=unit, reason=doubt[0], explanation=doubt[1], estimate=estimate)
    return UnitCost(
        name=name, unit=unit, denominator=per, estimate=estimate,
        low=scale * bounds[0], high=scale * bounds[1], n=runs,
        method=BOOTSTRAP_T if runs >= BOOTSTRAP_FROM else STUDENT_T,
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
    ratio, error = (
        float(value[0]) for value in _log_ratio_and_error(numerator[None, :], denominator[None, :])
    )
    if not error > NO_SPREAD:
        return ("no_spread", "all runs have the same ratio: they say nothing of its spread"), None
    if runs >= BOOTSTRAP_FROM:
        low_t, high_t = _bootstrapped_t(numerator, denominator, ratio, generator)
    else:
        high_t = float(student_t.ppf(0.975, runs - 1))
        low_t = -high_t
    with np.errstate(over="ignore"):
        low, high = np.exp([ratio - high_t * error, ratio - low_t * error])
    if not (low > 0.0 and np.isfinite(high)):
        return ("no_interval", "the runs differ too much for an interval from so few"), None
    return None, (float(low), float(high))


def _bootstrapped_t(
    numerator: Values, denominator: Values, ratio: float, generator: np.random.Generator
) -> tuple[float, float]:
    """The 2.5 % and 97.5 % quantiles of (log R* − log R) / se*."""
    runs = len(numerator)
    chosen = generator.integers(0, runs, size=(RESAMPLES, runs))
    ratios, errors = _log_ratio_and_error(numerator[chosen], denominator[chosen])
    # A resample without a spread has no t, and says nothing.
    usable = np.isfinite(ratios) & (errors > NO_SPREAD)
    t = (ratios[usable] - ratio) / errors[usable]
    low_t, high_t = np.quantile(t, [0.025, 0.975])
    return float(low_t), float(high_t)


def _log_ratio_and_error(numerator: Values, denominator: Values) -> tuple[Values, Values]:
    """Log of the ratio of sums, and its standard error (delta method), of every row."""
    runs = numerator.shape[1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = numerator.sum(axis=1) / denominator.sum(axis=1)
        residual = numerator - ratio[:, None] * denominator
        error = np.sqrt((residual**2).sum(axis=1) / (runs * (runs - 1))) / denominator.mean(axis=1)
        return np.log(ratio), np.nan_to_num(error / ratio)
