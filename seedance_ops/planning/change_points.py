"""Where the level of a job's history changed: binary segmentation with a permutation test at each split.

Apache Otava, which does this well, pins versions of scipy and tabulate that cannot be installed beside
Airflow 3.3; this is the same idea (Matteson & James 2014, JASA 109: split, test by permutation, recurse) on
a CUSUM.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pydantic import Field

from seedance_ops.stats.outcomes import NotJudgeable
from seedance_ops.strict_model import StrictModel

MINIMUM_RECORDS = 8
"""With fewer, no split can be told from chance at α 0.01."""
_SHORTEST = 3
_PERMUTATIONS = 1999
Values = npt.NDArray[np.float64]


class ChangePoint(StrictModel):
    """A place in a series at which its level changed."""

    index: int = Field(ge=1)
    """The first value of the new level."""
    before: float
    """Mean of the segment that ends here."""
    after: float
    """Mean of the segment that begins here."""
    p_value: float = Field(ge=0.0, le=1.0)
    """Of the split within its segment, by permutation."""


def change_points(
    values: Values, *, alpha: float = 0.01, seed: int = 0
) -> tuple[ChangePoint, ...] | NotJudgeable:
    """Every change of level, in order.

    A split is kept where fewer than α of the series' permutations have as large a CUSUM at their best split.
    Assumes that values are exchangeable while nothing changes: a slow trend is found as one or more steps.
    ``NotJudgeable`` for fewer than 8 values, or one that is not finite.

    Args:
        values: One per run, in time order.
        alpha: Of each test; a series is tested once more for each change that is found.
        seed: Of the permutations.
    """
    if len(values) < MINIMUM_RECORDS:
        return NotJudgeable(
            reason=f"{len(values)} runs; at least {MINIMUM_RECORDS} are needed to see a change"
        )
    if not np.isfinite(values).all():
        return NotJudgeable(reason="a value is missing or infinite")
    generator = np.random.default_rng(seed)
    found = _split(values, 0, len(values), alpha, generator)
    edges = [0, *sorted(index for index, _ in found), len(values)]
    p_values = dict(found)
    return tuple(
        ChangePoint(
            index=here,
            before=float(values[start:here].mean()),
            after=float(values[here:end].mean()),
            p_value=p_values[here],
        )
        for start, here, end in zip(edges, edges[1:], edges[2:], strict=False)
    )


def _split(
    values: Values, start: int, end: int, alpha: float, generator: np.random.Generator
) -> list[tuple[int, float]]:
    segment = values[start:end]
    if len(segment) < 2 * _SHORTEST or np.ptp(segment) <= 1e-12 * np.abs(segment).max():
        return []
    statistic, place = _largest(segment[np.newaxis])
    shuffled = generator.permuted(np.broadcast_to(segment, (_PERMUTATIONS, len(segment))), axis=1)
    larger = int((_largest(shuffled)[0] >= statistic[0] * (1 - 1e-12)).sum())
    p_value = (larger + 1) / (_PERMUTATIONS + 1)
    if p_value >= alpha:
        return []
    middle = start + int(place[0])
    return [
        *_split(values, start, middle, alpha, generator),
        (middle, p_value),
        *_split(values, middle, end, alpha, generator),
    ]


def _largest(rows: Values) -> tuple[Values, npt.NDArray[np.int64]]:
    """The largest standardised difference of means over all splits of each row, and where it is."""
    n = rows.shape[1]
    left = np.arange(_SHORTEST, n - _SHORTEST + 1)
    sums = np.cumsum(rows, axis=1)
    total = sums[:, -1:]
    cusum = np.abs(sums[:, left - 1] - total * left / n) / np.sqrt(left * (n - left) / n)
    best = cusum.argmax(axis=1)
    return cusum[np.arange(len(rows)), best], left[best]
