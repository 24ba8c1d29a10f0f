"""Dotted paths (``workload.stop.samples``) into nested plain data."""

from __future__ import annotations

from pydantic import JsonValue


class DottedPathError(ValueError):
    """A path leads through something that has no parts."""


def set_value(data: dict[str, JsonValue], path: str, value: JsonValue) -> None:
    """Put ``value`` at ``path``, making mappings on the way where there is nothing yet.

    A number in a path counts from 0 into a list.
    """
    *parents, last = path.split(".")
    place: JsonValue = data
    for depth, name in enumerate(parents):
        place = _step(place, name, ".".join(parents[: depth + 1]))
    if isinstance(place, dict):
        place[last] = value
    elif isinstance(place, list):
        place[_index(place, last, path)] = value
    else:
        raise DottedPathError(f"{'.'.join(parents)} has no parts, so there is no {path}")


def _step(place: JsonValue, name: str, path: str) -> JsonValue:
    if isinstance(place, dict):
        if place.get(name) is None:
            place[name] = {}
        return place[name]
    if isinstance(place, list):
        return place[_index(place, name, path)]
    raise DottedPathError(f"{path.rpartition('.')[0]} has no parts, so there is no {path}")


def _index(items: list[JsonValue], name: str, path: str) -> int:
    if not (name.isascii() and name.isdigit()) or len(name) > 6 or int(name) >= len(items):
        raise DottedPathError(f"there is no {path}: the list has {len(items)} entries, counted from 0")
    return int(name)
