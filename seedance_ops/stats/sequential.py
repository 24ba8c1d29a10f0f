"""Looking at a study before it is complete: only where that was declared beforehand, and at its price.

Looking after each run and stopping at the first p < 0.05 is wrong in 20 % of studies. A plan names its looks
and spends α over them by a function of the share of the runs (Lan and DeMets 1983, Biometrika 70).
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from pydantic import Field, field_validator
from scipy import optimize, special

from seedance_ops.stats.outcomes import MINIMUM_RUNS
from seedance_ops.stats.samples import Values
from seedance_ops.strict_model import StrictModel

Spending = Literal["obrien_fleming", "pocock"]
_FARTHEST = 8.0
"""Standard deviations below which the path of a statistic is cut off."""
_POINTS = 1001
_LEAST_SPENT = 1e-15
"""What a look is allotted at least: nobody passes there, and the arithmetic stays finite."""


class UndeclaredLookError(ValueError):
    """Somebody looked at a number of runs that the plan does not name."""


class SequentialPlan(StrictModel):
    """The looks of a study: declared in the job, before its first run."""

    looks: tuple[int, ...] = Field(min_length=1)
    """Runs per variant at each look, ascending; the last is the whole study."""
    alpha: float = Field(default=0.025, gt=0.0, lt=0.5)
    """One-sided, of all looks together: 0.025 as a gate on a 95 % interval, 0.05 as TOST."""
    spending: Spending = "obrien_fleming"
    """``obrien_fleming`` spends almost nothing early; ``pocock`` about evenly."""

    @field_validator("looks")
    @classmethod
    def _ascending(cls, looks: tuple[int, ...]) -> tuple[int, ...]:
        if looks[0] < MINIMUM_RUNS or any(b <= a for a, b in pairwise(looks)):
            raise ValueError(f"looks must ascend from at least {MINIMUM_RUNS} runs")
        return looks

    @cached_property
    def bounds(self) -> tuple[float, ...]:
        """The standard normal bound of each look."""
        shares = tuple(look / self.looks[-1] for look in self.looks)
        return spending_bounds(shares, self.alpha, self.spending)

    def alpha_at(self, n_per_variant: int) -> float:
        """What a one-sided p value is held against at this look.

        The bound's tail is used as a level of the t test (Jennison and Turnbull 2000, § 3.8).

        Raises:
            UndeclaredLookError: The plan has no look at this number of runs.
        """
        if n_per_variant not in self.looks:
            declared = ", ".join(str(look) for look in self.looks)
            raise UndeclaredLookError(
                f"a look at {n_per_variant} runs per variant was not declared; the plan's are at {declared}"
            )
        return float(special.ndtr(-self.bounds[self.looks.index(n_per_variant)]))

    def confidence_at(self, n_per_variant: int) -> float:
        """The confidence of the two-sided interval to judge by at this look; raises as ``alpha_at``."""
        return 1 - 2 * self.alpha_at(n_per_variant)

    def stops_at(self, n_per_variant: int, p_value: float) -> bool:
        """Whether the gate has passed at this look, so that the study may end; raises as ``alpha_at``."""
        return p_value <= self.alpha_at(n_per_variant)


def spending_bounds(shares: tuple[float, ...], alpha: float, spending: Spending) -> tuple[float, ...]:
    """The upper bounds of a statistic that is standard normal at each share of the information.

    By recursive integration over its path (Armitage, McPherson and Rowe 1969, JRSS A 132): the chance of
    crossing first at a look is what the spending function allots to it.

    Args:
        shares: Of the whole study's runs at each look, ascending, the last 1.
        alpha: One-sided, of all looks together.
        spending: How α is spent.
    """
    spent = [_spent(share, alpha, spending) for share in shares]
    bounds = [float(-special.ndtri(max(spent[0], _LEAST_SPENT)))]
    grid = _grid(bounds[0] * np.sqrt(shares[0]), shares[0])
    density = np.exp(-(grid**2) / (2 * shares[0])) / np.sqrt(2 * np.pi * shares[0])
    for k in range(1, len(shares)):
        sd = np.sqrt(shares[k] - shares[k - 1])
        mass = _simpson(grid) * density
        bound = _bound_of(max(spent[k] - spent[k - 1], _LEAST_SPENT), grid, mass, sd, np.sqrt(shares[k]))
        bounds.append(bound)
        following = _grid(bound * np.sqrt(shares[k]), shares[k])
        steps = (following[:, None] - grid[None, :]) / sd
        density = (np.exp(-(steps**2) / 2) / (sd * np.sqrt(2 * np.pi))) @ mass
        grid = following
    return tuple(bounds)


def _spent(share: float, alpha: float, spending: Spending) -> float:
    if spending == "pocock":
        return float(alpha * np.log1p((np.e - 1) * share))
    return float(2 * special.ndtr(special.ndtri(alpha / 2) / np.sqrt(share)))


def _grid(highest: float, share: float) -> Values:
    return np.linspace(-_FARTHEST * np.sqrt(share), highest, _POINTS)


def _simpson(grid: Values) -> Values:
    weights = np.ones(_POINTS)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    return np.asarray(weights * (grid[1] - grid[0]) / 3)


def _bound_of(allotted: float, grid: Values, mass: Values, sd: float, scale: float) -> float:
    def excess(bound: float) -> float:
        return float(special.ndtr((grid - bound * scale) / sd) @ mass) - allotted

    return float(optimize.brentq(excess, -_FARTHEST, _FARTHEST + 2, xtol=1e-10))
