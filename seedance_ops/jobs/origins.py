"""Print a merged job with the origin of every value: ``file:line``, or ``default``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import yaml
from pydantic import JsonValue

from seedance_ops.jobs.errors import Place
from seedance_ops.jobs.loader import LoadedJob

DEFAULT = "default"
_FIRST = ("apiVersion", "kind", "metadata", "schedule")


def merged_values(loaded: LoadedJob) -> dict[str, JsonValue]:
    """The job as plain data: what was written, and the defaults of all that was not."""
    values: dict[str, JsonValue] = loaded.job.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: values[key] for key in (*_FIRST, *values) if key in values}


def origins(loaded: LoadedJob, base: Path) -> dict[str, str]:
    """Where each value came from, by dotted path; files relative to ``base`` where they lie below it."""
    return {path: _origin(loaded.positions, path, base) for path, _ in _leaves(merged_values(loaded), "")}


def annotated_yaml(loaded: LoadedJob, base: Path) -> str:
    """The merged job as YAML, every value with its origin in a comment."""
    lines = list(_lines(merged_values(loaded), "", 0))
    width = min(60, max((len(text) for text, _ in lines), default=0))
    return "\n".join(
        f"{text:<{width}}  # {_origin(loaded.positions, path, base)}" if path else text
        for text, path in lines
    )


def _origin(positions: dict[str, Place], path: str, base: Path) -> str:
    place = positions.get(path)
    if place is None:
        return DEFAULT
    source = place.source.absolute()
    shown = source.relative_to(base.absolute()) if source.is_relative_to(base.absolute()) else source
    return f"{shown}:{place.line}"


def _leaves(data: JsonValue, path: str) -> Iterator[tuple[str, JsonValue]]:
    below: list[tuple[str, JsonValue]] = []
    if isinstance(data, dict):
        below = list(data.items())
    elif isinstance(data, list):
        below = [(str(index), item) for index, item in enumerate(data)]
    if not below:
        yield path, data
    for key, value in below:
        yield from _leaves(value, f"{path}.{key}" if path else key)


def _lines(data: JsonValue, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Each line with the path of the value it shows; an empty path for a line that shows none."""
    indent = "  " * depth
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _entry(f"{indent}{_scalar(key)}:", value, f"{path}.{key}" if path else key, depth)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _entry(f"{indent}-", value, f"{path}.{index}", depth)


def _entry(head: str, value: JsonValue, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list) and value:
        yield head, ""
        yield from _lines(value, path, depth + 1)
    else:
        yield f"{head} {_scalar(value)}", path


def _scalar(value: JsonValue) -> str:
    if isinstance(value, str):
        plain = yaml.safe_dump(value, width=10_000, allow_unicode=True).removesuffix("...\n").strip()
        return plain if "\n" not in plain else json.dumps(value)
    return json.dumps(value)
