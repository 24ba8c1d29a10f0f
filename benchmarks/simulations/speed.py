"""What the published bootstrap costs here, in scipy, and as the loop that the report prints."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from seedance_ops.stats.as_published import bootstrap_interval

BATCH = 10
"""Intervals in a row, as for the metrics of a report: a single one would time the processor's caches."""


def bootstrap_seconds(n: int, repeats: int, batch: int = BATCH) -> dict[str, list[float]]:
    """Seconds of one interval from ``n`` values and 1,000 resamples; the three interleaved."""
    data = np.random.default_rng(n).lognormal(size=n)
    generator = np.random.default_rng(1)
    contenders: dict[str, Callable[[], object]] = {
        "ours": lambda: bootstrap_interval(data, generator=generator),
        "scipy_percentile": lambda: stats.bootstrap(
            (data,), np.mean, n_resamples=1000, method="percentile", rng=generator
        ),
        "report_loop": lambda: report_loop(data),
    }
    took: dict[str, list[float]] = {name: [] for name in contenders}
    for contender in contenders.values():
        contender()
    for _ in range(repeats):
        for name, contender in contenders.items():
            began = time.perf_counter()
            for _ in range(batch):
                contender()
            took[name].append((time.perf_counter() - began) / batch)
    return took


def report_loop(data: np.ndarray) -> np.ndarray:
    """As the report has it: one draw and one mean per resample, in a list comprehension."""
    means = [np.mean(np.random.choice(data, size=len(data), replace=True)) for _ in range(1000)]
    return np.percentile(means, [2.5, 97.5])
