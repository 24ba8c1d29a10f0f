"""Cut the invalid parts out of a job, so that the rest can still be checked and all errors shown at once."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from seedance_ops.jobs.explain import explain
from seedance_ops.jobs.findings import Path
from seedance_ops.jobs.plain import from_plain
from seedance_ops.jobs.training_job import TrainingJob

_ROUNDS = 12
# Stand-ins for what a job cannot be without; findings about them are void.
_STAND_INS: dict[str, JsonValue] = {
    "apiVersion": "seedance.ops/v1",
    "kind": "TrainingJob",
    "metadata": {"name": "stand-in"},
    "workload": {"command": ["true"]},
    "launcher": "stand-in",
    "variants": {"baseline": {}},
}
# Items are replaced, not removed: the others must keep their numbers.
_ITEM_STAND_INS: dict[str | int, JsonValue] = {
    "gates": {"metric": "run_s", "at_least": 0},
    "metrics": {"name": "stand_in"},
    "params": "accept",
    "command": "true",
}


@dataclass(frozen=True)
class PrunedJob:
    """The valid rest of a job."""

    job: TrainingJob
    removed: frozenset[Path]
    """The paths that were cut out or replaced."""


def prune(data: dict[str, JsonValue]) -> PrunedJob | None:
    """Remove faulty keys, innermost first, until the job is valid; ``None`` where that does not end."""
    removed: set[Path] = set()
    for _ in range(_ROUNDS):
        try:
            return PrunedJob(from_plain(TrainingJob, data), frozenset(removed))
        except ValidationError as error:
            for finding in explain(error, TrainingJob, data):
                removed.add(_cut(data, finding.path))
    return None


def _cut(data: dict[str, JsonValue], path: Path) -> Path:
    """Remove what is at ``path``; where it is missing, its parent. Returns what was removed."""
    parents: list[JsonValue] = [data]
    for name in path[:-1]:
        parents.append(_child(parents[-1], name))
    while path:
        place, name = parents.pop(), path[-1]
        if len(path) == 1 and name in _STAND_INS:
            data[str(name)] = copy.deepcopy(_STAND_INS[str(name)])
            return path
        if isinstance(place, dict) and name in place:
            if len(path) == 2 and path[0] == "variants" and place[str(name)] != {}:
                place[str(name)] = {}  # keep the name: gates refer to it
            else:
                del place[str(name)]
            return path
        if _child(place, name) is not None and isinstance(place, list) and path[-2] in _ITEM_STAND_INS:
            place[int(name)] = copy.deepcopy(_ITEM_STAND_INS[path[-2]])
            return path
        path = path[:-1]
    return path


def _child(place: JsonValue, name: str | int) -> JsonValue:
    if isinstance(place, dict):
        return place.get(str(name))
    if isinstance(place, list) and isinstance(name, int) and name < len(place):
        return place[name]
    return None  # an earlier finding of the same round has cut it off
