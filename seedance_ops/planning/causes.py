"""What changed between the runs where a level changed: candidates for its cause, ranked (R5.4)."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from seedance_ops.planning.history import HistoryRecord
from seedance_ops.strict_model import StrictModel

_REACH = 1
"""Runs on either side of a change in which a cause may lie: a change is placed to within about one run."""
_NOT_CAUSES = frozenset({"run_id", "job", "cluster_id"})
"""Differ in every run, in none, or say only what another key says already."""


class Candidate(StrictModel):
    """Something that changed near a change point."""

    what: str
    """``job_hash``, ``price <variant>``, or a key of the stamp: code, a version, hardware."""
    before: str
    after: str
    distance: int = Field(ge=0)
    """Runs between this change and the level's."""
    changes: int = Field(ge=1)
    """How often it changed in the whole history."""
    score: float = Field(gt=0.0, le=1.0)
    """1 for what changed once, exactly here: 1 ÷ changes ÷ (1 + distance)."""


def candidates(history: Sequence[HistoryRecord], index: int) -> tuple[Candidate, ...]:
    """What changed near ``index``, likeliest first.

    Lining up is no proof: what changes rarely, and exactly where the level does, is the better suspect; what
    changes with every run explains nothing.
    """
    circumstances = [_circumstances(record) for record in history]
    keys = sorted({key for of_run in circumstances for key in of_run})
    found = []
    for key in keys:
        steps = [
            place
            for place in range(1, len(circumstances))
            if circumstances[place].get(key) != circumstances[place - 1].get(key)
        ]
        near = [place for place in steps if abs(place - index) <= _REACH]
        if not near:
            continue
        place = min(near, key=lambda step: abs(step - index))
        distance = abs(place - index)
        found.append(
            Candidate(
                what=key,
                before=circumstances[place - 1].get(key, "nothing"),
                after=circumstances[place].get(key, "nothing"),
                distance=distance,
                changes=len(steps),
                score=1.0 / len(steps) / (1 + distance),
            )
        )
    return tuple(sorted(found, key=lambda candidate: (-candidate.score, candidate.what)))


def _circumstances(record: HistoryRecord) -> dict[str, str]:
    prices = {f"price {name}": f"{usd:g}" for name, usd in record.usd_per_accelerator_hour.items()}
    stamp = {key: value for key, value in record.stamp.items() if key not in _NOT_CAUSES}
    return {**stamp, **prices, "job_hash": record.job_hash}
