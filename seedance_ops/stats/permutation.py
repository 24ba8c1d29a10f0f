"""A permutation test, as a check of Welch's t on the same runs that assumes no distribution."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import special, stats

from seedance_ops.stats.change import ChangeScale, infer_change_of
from seedance_ops.stats.outcomes import Design, NotJudgeable
from seedance_ops.stats.samples import Values, pairable
from seedance_ops.strict_model import StrictModel

_RESAMPLES = 9999


class PermutationCheck(StrictModel):
    """A p value by relabelling the runs, beside that of the t test."""

    judgeable: Literal[True] = True
    design: Design
    p_value: float = Field(ge=0.0, le=1.0)
    """Two-sided, of no difference."""
    t_test_p_value: float = Field(ge=0.0, le=1.0)
    """Of the same hypothesis on the same scale."""
    exact: bool
    """Whether every relabelling was tried; else 9,999 random ones."""
    smallest_p_value: float = Field(gt=0.0, le=1.0)
    """What so few runs can reach at best: with 3 + 3 runs, 0.1."""

    def agrees(self, alpha: float = 0.05) -> bool:
        """Whether both tests decide alike; also where too few runs let this one reach α at all."""
        if self.smallest_p_value > alpha:
            return True
        return (self.p_value <= alpha) == (self.t_test_p_value <= alpha)


def permutation_check(
    treatment: pd.Series[float],
    baseline: pd.Series[float],
    *,
    pairs_by_seed: bool,
    scale: ChangeScale = "absolute",
    generator: np.random.Generator | None = None,
) -> PermutationCheck | NotJudgeable:
    """Permute Welch's t over the runs' labels, or the signs of paired differences.

    The studentised statistic keeps the test valid for unequal variances, asymptotically (Janssen 1997, Stat.
    Probab. Lett. 36). ``NotJudgeable`` as for ``compare``.
    """
    samples = pairable(treatment, baseline, pairs_by_seed=pairs_by_seed)
    if isinstance(samples, NotJudgeable):
        return samples
    change = infer_change_of(samples, scale)
    if isinstance(change, NotJudgeable):
        return change
    ours, theirs = samples.treatment, samples.baseline
    if scale == "relative":
        ours, theirs = np.log(ours), np.log(theirs)
    data = (ours - theirs,) if samples.paired else (ours, theirs)
    result = stats.permutation_test(
        data,
        _paired_t if samples.paired else _welch_t,
        permutation_type="samples" if samples.paired else "independent",
        vectorized=True,
        n_resamples=_RESAMPLES,
        rng=np.random.default_rng(0) if generator is None else generator,
    )
    ways = 2.0 ** len(ours) if samples.paired else float(special.comb(len(ours) + len(theirs), len(ours)))
    exact = ways <= _RESAMPLES
    return PermutationCheck(
        design=change.design,
        p_value=min(1.0, float(result.pvalue)),
        t_test_p_value=change.inference.p_other_than(0.0),
        exact=exact,
        smallest_p_value=min(1.0, 2 / (ways if exact else _RESAMPLES + 1)),
    )


def _welch_t(ours: Values, theirs: Values, axis: int = -1) -> Values:
    errors = (
        ours.var(axis=axis, ddof=1) / ours.shape[axis] + theirs.var(axis=axis, ddof=1) / theirs.shape[axis]
    )
    return _ratio(ours.mean(axis=axis) - theirs.mean(axis=axis), errors)


def _paired_t(differences: Values, axis: int = -1) -> Values:
    return _ratio(differences.mean(axis=axis), differences.var(axis=axis, ddof=1) / differences.shape[axis])


def _ratio(shifts: Values, squared_errors: Values) -> Values:
    # A relabelling may leave no spread; a large finite number stands for its infinite t, which scipy's
    # comparison of statistics could not take.
    floor = np.finfo(np.float64).tiny
    return np.asarray(shifts / np.sqrt(np.maximum(squared_errors, floor)))
