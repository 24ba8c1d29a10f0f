"""The same comparisons by other tests: a permutation of labels, and all variants at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from seedance_ops.jobs.metrics import MetricDefinition
from seedance_ops.quality.statistics import values_by_seed
from seedance_ops.stats.groups import PairTest, games_howell_p_values, welch_anova
from seedance_ops.stats.outcomes import NotJudgeable
from seedance_ops.stats.permutation import permutation_check
from seedance_ops.strict_model import StrictModel


class CrossCheck(StrictModel):
    """No difference from the baseline, by the t test of the report and by a test that assumes no shape."""

    metric: str
    variant: str
    t_test_p_value: float
    permutation_p_value: float
    exact: bool
    """Whether every relabelling was tried."""
    agrees: bool
    """Whether both decide alike at 0.05, or the runs are too few for the permutation to reach it."""


class AcrossVariants(StrictModel):
    """Whether any variant differs, and every pair with an error that holds for all pairs together."""

    metric: str
    f_value: float
    between: float
    within: float
    """Degrees of freedom of Welch's analysis of variance."""
    p_value: float
    pairs: tuple[PairTest, ...]
    """By Games and Howell."""


def cross_checks_of(
    runs: pd.DataFrame, metrics: Sequence[MetricDefinition], variants: Sequence[str], baseline: str
) -> tuple[CrossCheck, ...]:
    """Every measured metric of every variant; what cannot be judged is left out.

    Args:
        runs: The run table with its costs.
        metrics: Which to check.
        variants: All of the job.
        baseline: What the others are compared with.
    """
    return tuple(_cross_checks(runs, metrics, [name for name in variants if name != baseline], baseline))


def _cross_checks(
    runs: pd.DataFrame, metrics: Sequence[MetricDefinition], others: Sequence[str], baseline: str
) -> Iterator[CrossCheck]:
    for metric in metrics:
        for variant in others:
            found = permutation_check(
                values_by_seed(runs, variant, metric.name),
                values_by_seed(runs, baseline, metric.name),
                pairs_by_seed=metric.pairs_by_seed,
            )
            if not isinstance(found, NotJudgeable):
                yield CrossCheck(
                    metric=metric.name,
                    variant=variant,
                    t_test_p_value=found.t_test_p_value,
                    permutation_p_value=found.p_value,
                    exact=found.exact,
                    agrees=found.agrees(),
                )


def across_variants(
    runs: pd.DataFrame, metrics: Sequence[MetricDefinition], variants: Sequence[str]
) -> tuple[AcrossVariants, ...]:
    """Of three variants or more; a metric that one of them does not allow to judge is left out."""
    if len(variants) < 3:
        return ()
    return tuple(_across(runs, metrics, variants))


def _across(
    runs: pd.DataFrame, metrics: Sequence[MetricDefinition], variants: Sequence[str]
) -> Iterator[AcrossVariants]:
    for metric in metrics:
        groups = {name: values_by_seed(runs, name, metric.name) for name in variants}
        anova, pairs = welch_anova(groups), games_howell_p_values(groups)
        if isinstance(anova, NotJudgeable) or isinstance(pairs, NotJudgeable):
            continue
        yield AcrossVariants(
            metric=metric.name,
            f_value=anova.f_value,
            between=anova.between,
            within=anova.within,
            p_value=anova.p_value,
            pairs=pairs,
        )
