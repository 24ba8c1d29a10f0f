"""How often an interval holds the truth: ours and what else people use, on the same simulated studies."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from seedance_ops.stats.bootstrap_t import roots_of_one, roots_of_two
from seedance_ops.stats.comparison import compare
from seedance_ops.stats.inference import Inference, infer_difference, infer_mean
from seedance_ops.stats.level import level
from seedance_ops.stats.outcomes import Interval, NotJudgeable

Estimand = Literal["difference", "ratio", "level"]
RATIO = 1.3
"""The true treatment ÷ baseline of lognormal studies."""
SIGMA = 1.0
"""Standard deviation of their logs: far more than runs of one program show, so that skew is visible."""


@dataclass
class Share:
    """How many of how many."""

    hits: int = 0
    studies: int = 0

    def add(self, *, hit: bool) -> None:
        """Count one study."""
        self.hits += hit
        self.studies += 1

    @property
    def value(self) -> float:
        """Hits ÷ studies."""
        return self.hits / self.studies

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Clopper and Pearson's exact binomial interval."""
        low, high = proportion_confint(self.hits, self.studies, alpha=1 - confidence, method="beta")
        return float(low), float(high)


@dataclass(frozen=True)
class Rates:
    """One simulated figure: ours and its peers'."""

    ours: Share = field(default_factory=Share)
    peers: dict[str, Share] = field(default_factory=dict)

    def add(self, name: str | None, *, hit: bool) -> None:
        """Count one study for a peer, or for ours (``None``)."""
        share = self.ours if name is None else self.peers.setdefault(name, Share())
        share.add(hit=hit)


@dataclass(frozen=True)
class Truth:
    """One kind of study: how its runs are drawn, and what is true of them."""

    draw: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
    value: dict[Estimand, float]


def _normal(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return generator.normal(11.0, 2.0, n), generator.normal(10.0, 1.0, n)


def _lognormal(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return generator.lognormal(np.log(RATIO), SIGMA, n), generator.lognormal(0.0, SIGMA, n)


_MEAN_OF_LOGNORMAL = float(np.exp(SIGMA**2 / 2))
TRUTHS = {
    "normal": Truth(_normal, {"difference": 1.0, "level": 11.0}),
    "lognormal": Truth(
        _lognormal,
        {
            "ratio": RATIO,
            "difference": (RATIO - 1) * _MEAN_OF_LOGNORMAL,
            "level": RATIO * _MEAN_OF_LOGNORMAL,
        },
    ),
}


def coverage(truth: Truth, estimand: Estimand, n: int, studies: int, *, seed: int, peers: int = 0) -> Rates:
    """In what share of studies of ``n`` runs a variant the 95 % interval holds the truth.

    The peers judge the first ``peers`` of the studies.
    """
    generator, resampling = np.random.default_rng(seed), np.random.default_rng(seed)
    rates = Rates()
    for study in range(studies):
        ours, theirs = truth.draw(generator, n)
        _count(rates, None, our_interval(ours, theirs, estimand), truth.value[estimand])
        if study < peers:
            for name, interval in peer_intervals(ours, theirs, estimand, resampling).items():
                _count(rates, name, interval, truth.value[estimand])
    return rates


def our_interval(ours: np.ndarray, theirs: np.ndarray, estimand: Estimand) -> Interval:
    """The default interval, through the functions that gates and the report call."""
    if estimand == "level":
        found = level(pd.Series(ours), nature="measured")
        assert isinstance(found, Interval)
        return found
    outcome = compare(pd.Series(ours), pd.Series(theirs), pairs_by_seed=False, nature="measured")
    assert not isinstance(outcome, NotJudgeable)
    interval = outcome.ratio if estimand == "ratio" else outcome.difference
    assert interval is not None
    return interval


def peer_intervals(
    ours: np.ndarray, theirs: np.ndarray, estimand: Estimand, generator: np.random.Generator
) -> dict[str, Interval]:
    """Student's (Welch's) and the bootstrap-t alone, scipy's percentile and BCa bootstraps."""
    samples = (ours,) if estimand == "level" else (ours, theirs)
    if estimand == "ratio":
        samples = tuple(np.log(sample) for sample in samples)
    found = {"student": _student(samples)}
    if resampled := _bootstrap_t(samples, generator):
        found["bootstrap_t"] = resampled
    for method, name in (("percentile", "percentile_bootstrap"), ("BCa", "bca_bootstrap")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # BCa of nearly tied resamples
            result = stats.bootstrap(
                samples, _mean_difference, n_resamples=1000, method=method, vectorized=True, rng=generator
            )
        low, high = result.confidence_interval
        if np.isfinite([low, high]).all():
            found[name] = Interval(estimate=float(_mean_difference(*samples)), low=low, high=high)
    if estimand != "ratio":
        return found
    return {name: _exponential(interval) for name, interval in found.items()}


def _mean_difference(ours: np.ndarray, theirs: np.ndarray | None = None, axis: int = -1) -> np.ndarray:
    mean = ours.mean(axis=axis)
    return mean if theirs is None else mean - theirs.mean(axis=axis)


def _student(samples: tuple[np.ndarray, ...]) -> Interval:
    if len(samples) == 1:
        low, high = stats.ttest_1samp(samples[0], 0.0).confidence_interval(0.95)
    else:
        low, high = stats.ttest_ind(*samples, equal_var=False).confidence_interval(0.95)
    return Interval(estimate=float(_mean_difference(*samples)), low=low, high=high)


def _bootstrap_t(samples: tuple[np.ndarray, ...], generator: np.random.Generator) -> Interval | None:
    """Whether or not the runs are skewed."""
    if len(samples) == 1:
        inference, roots = infer_mean(*samples), roots_of_one(*samples, generator)
    else:
        inference, roots = infer_difference(*samples, paired=False), roots_of_two(*samples, generator)
    assert isinstance(inference, Inference)
    if roots is None:
        return None
    low, high = roots.quantiles(0.95)
    estimate, error = inference.difference, inference.standard_error
    return Interval(estimate=estimate, low=estimate - high * error, high=estimate - low * error)


def _exponential(logs: Interval) -> Interval:
    return Interval(
        estimate=float(np.exp(logs.estimate)), low=float(np.exp(logs.low)), high=float(np.exp(logs.high))
    )


def _count(rates: Rates, name: str | None, interval: Interval, truth: float) -> None:
    rates.add(name, hit=interval.low <= truth <= interval.high)
