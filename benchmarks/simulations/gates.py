"""How often a gate passes: what must fail (error of the first kind), and what should pass (power)."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from seedance_ops.stats.equivalence import ALPHA, Equivalence, equivalence
from seedance_ops.stats.level import level
from seedance_ops.stats.multiplicity import Adjusted, holm
from seedance_ops.stats.non_inferiority import BoundTest, change_test, non_inferiority
from seedance_ops.stats.outcomes import Interval
from seedance_ops.stats.power import Demand, SeedPlan, Spread, runs_needed
from simulations.studies import Rates

SD = 0.03
"""Of the logs of runs: they differ by about 3 %."""
VARIED_SD, SKEWED_SD = 0.2, 1.0
"""Runs that differ by a fifth; runs of which the largest of ten is typically five times their median."""
BOUND = -0.2
"""``change_at_most``: at least 20 % less."""
MARGIN = 0.05
VARIANTS = 4
"""Judged together in the multi-variant gate."""

Runs = pd.Series


@dataclass(frozen=True)
class GatePath:
    """One kind of gate: how it judges two variants, and what it demands."""

    passes: Callable[[Runs, Runs], bool]
    naive: Callable[[Runs, Runs], bool]
    """What people do without a test."""
    naive_name: str
    edge: float
    """The relative change at which it must just not pass."""
    demand: Demand | None
    """None for a level, which ``power`` does not plan."""
    truth: float
    """The relative change under which power is planned."""
    sd: float = SD


def _change(side: str, bound: float) -> Callable[[Runs, Runs], bool]:
    def passes(ours: Runs, theirs: Runs) -> bool:
        outcome = change_test(
            ours, theirs, side=side, bound=bound, scale="relative", pairs_by_seed=False, nature="measured"
        )
        assert isinstance(outcome, BoundTest)
        return outcome.holds

    return passes


def _equivalent(ours: Runs, theirs: Runs) -> bool:
    outcome = equivalence(
        ours, theirs, margin=MARGIN, scale="relative", pairs_by_seed=False, nature="measured"
    )
    assert isinstance(outcome, Equivalence)
    assert outcome.p_value is not None
    return outcome.p_value < ALPHA


def _not_inferior(ours: Runs, theirs: Runs) -> bool:
    outcome = non_inferiority(
        ours,
        theirs,
        margin=MARGIN,
        better="lower",
        scale="relative",
        pairs_by_seed=False,
        nature="measured",
    )
    assert isinstance(outcome, BoundTest)
    return outcome.holds


def _level_of(ours: Runs) -> Interval:
    found = level(ours, nature="measured")
    assert isinstance(found, Interval)
    return found


def _ratio(ours: Runs, theirs: Runs) -> float:
    return float(np.exp(np.log(ours).mean() - np.log(theirs).mean()))


def _no_difference_found(ours: Runs, theirs: Runs) -> bool:
    """The mistake that TOST is there for: "p > 0.05, so they are the same"."""
    outcome = change_test(
        ours, theirs, side="at_most", bound=0.0, scale="relative", pairs_by_seed=False, nature="measured"
    )
    assert isinstance(outcome, BoundTest)
    assert outcome.p_value is not None
    return ALPHA / 2 < outcome.p_value < 1 - ALPHA / 2


def _level_path(side: str, sd: float) -> GatePath:
    mean = float(np.exp(sd**2 / 2))  # of a lognormal run whose log has mean 0
    if side == "at_most":
        return GatePath(
            lambda ours, _: _level_of(ours).high <= mean,
            lambda ours, _: float(ours.mean()) <= mean,
            "point_estimate",
            0.0,
            None,
            0.0,
            sd,
        )
    return GatePath(
        lambda ours, _: _level_of(ours).low >= mean,
        lambda ours, _: float(ours.mean()) >= mean,
        "point_estimate",
        0.0,
        None,
        0.0,
        sd,
    )


PATHS = {
    "change_at_most": GatePath(
        _change("at_most", BOUND),
        lambda ours, theirs: _ratio(ours, theirs) <= 1 + BOUND,
        "point_estimate",
        BOUND,
        Demand.change_at_most(BOUND),
        -0.24,
    ),
    "change_at_least": GatePath(
        _change("at_least", 0.2),
        lambda ours, theirs: _ratio(ours, theirs) >= 1.2,
        "point_estimate",
        0.2,
        Demand.change_at_least(0.2),
        0.25,
    ),
    "equivalent_within": GatePath(
        _equivalent,
        _no_difference_found,
        "no_difference_found",
        MARGIN,
        Demand.equivalent_within(MARGIN),
        0.0,
    ),
    "non_inferiority": GatePath(
        _not_inferior,
        lambda ours, theirs: _ratio(ours, theirs) <= 1 + MARGIN,
        "point_estimate",
        MARGIN,
        Demand.non_inferior(MARGIN, "lower"),
        0.0,
    ),
    "at_most": _level_path("at_most", SD),
    "at_least": _level_path("at_least", SD),
    "at_most_varied": _level_path("at_most", VARIED_SD),
    "at_most_skewed": _level_path("at_most", SKEWED_SD),
    "at_least_skewed": _level_path("at_least", SKEWED_SD),
}


def type_one_error(path: GatePath, n: int, studies: int, *, seed: int) -> Rates:
    """In what share of studies the gate passes although the truth lies just outside what it allows."""
    generator = np.random.default_rng(seed)
    rates = Rates()
    for _ in range(studies):
        ours, theirs = runs_of(generator, path.edge, n, path.sd), runs_of(generator, 0.0, n, path.sd)
        rates.add(None, hit=path.passes(ours, theirs))
        rates.add(path.naive_name, hit=path.naive(ours, theirs))
    return rates


def multi_variant_error(n: int, studies: int, *, seed: int) -> Rates:
    """In what share of studies *any* of several variants passes ``change_at_most``, though none should."""
    generator = np.random.default_rng(seed)
    rates = Rates()
    gc.freeze()  # statsmodels collects garbage in each correction: 60 ms among the objects of its own imports
    for _ in range(studies):
        baseline = runs_of(generator, 0.0, n)
        p_values = {}
        for variant in range(VARIANTS):
            outcome = change_test(
                runs_of(generator, BOUND, n),
                baseline,
                side="at_most",
                bound=BOUND,
                scale="relative",
                pairs_by_seed=False,
                nature="measured",
            )
            assert isinstance(outcome, BoundTest)
            assert outcome.p_value is not None
            p_values[str(variant)] = outcome.p_value
        adjusted = holm(p_values).values()
        rates.add(None, hit=any(isinstance(test, Adjusted) and test.rejected for test in adjusted))
        rates.add("uncorrected", hit=min(p_values.values()) <= ALPHA)
    gc.unfreeze()
    return rates


def planned_power(path: GatePath, studies: int, *, seed: int) -> tuple[SeedPlan, Rates]:
    """The plan of ``runs_needed``, and in what share of studies of its size the gate passes."""
    assert path.demand is not None
    spread = Spread(sd=SD, scale="relative", design="welch", degrees_of_freedom=1000, source="simulation")
    plan = runs_needed(spread, path.demand, expected_change=path.truth)
    assert isinstance(plan, SeedPlan)
    generator = np.random.default_rng(seed)
    rates = Rates()
    for _ in range(studies):
        ours = runs_of(generator, path.truth, plan.n_per_variant)
        rates.add(None, hit=path.passes(ours, runs_of(generator, 0.0, plan.n_per_variant)))
    return plan, rates


def runs_of(generator: np.random.Generator, change: float, n: int, sd: float = SD) -> Runs:
    """Lognormal runs whose geometric mean is 1 + ``change``."""
    return pd.Series(generator.lognormal(np.log1p(change), sd, n))
