"""Give findings their place in the files: line, column, the value as written and the lines around it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seedance_ops.jobs.errors import MOST_ERRORS, JobError, Place
from seedance_ops.jobs.findings import Finding, dotted
from seedance_ops.jobs.secrecy import (
    MASK,
    is_price_key,
    masked_line,
    masked_value,
    names_a_secret,
    secret_values,
)
from seedance_ops.jobs.yaml_nodes import Node

_LONGEST_VALUE = 80
_LONGEST_LINE = 160


@dataclass(frozen=True)
class Source:
    """A file that a job was read from."""

    path: Path
    text: str
    lines: list[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", self.text.splitlines())


def locate(findings: Sequence[Finding], root: Node, sources: Iterable[Source]) -> list[JobError]:
    """The findings as errors, at most ``MOST_ERRORS`` and a word on the rest."""
    excerpts = _Excerpts(
        lines={source.path: source.lines for source in sources},
        hidden=_lines_of_secrets(root),
        priced=_lines_of(node for path, node in root.walk() if is_price_key(path)),
    )
    errors = [_error(finding, root, excerpts) for finding in findings[:MOST_ERRORS]]
    if len(findings) > MOST_ERRORS:
        last = max((error.place for error in errors if error.place), default=root.place)
        errors.append(JobError(f"and {len(findings) - MOST_ERRORS} more errors", last))  # sorts behind all
    return errors


_Lines = frozenset[tuple[Path, int]]


@dataclass(frozen=True)
class _Excerpts:
    """The files' lines, those that hold a secret, and those in which ``key`` names a price."""

    lines: dict[Path, list[str]]
    hidden: _Lines
    priced: _Lines

    def around(self, place: Place) -> tuple[tuple[int, str], ...]:
        lines = self.lines.get(place.source, [])
        first, last = max(1, place.line - 1), min(len(lines), place.line + 1)
        return tuple((number, self._line(place.source, number)) for number in range(first, last + 1))

    def _line(self, source: Path, number: int) -> str:
        line = self.lines[source][number - 1]
        if (source, number) in self.hidden:
            key, colon, _ = line.partition(":")
            line = f"{key}: {MASK}" if colon else MASK
        # Cut before masking too: a line of a megabyte would keep the patterns busy.
        cut = line[: 10 * _LONGEST_LINE]
        return masked_line(cut, priced=(source, number) in self.priced)[:_LONGEST_LINE]


def _error(finding: Finding, root: Node, excerpts: _Excerpts) -> JobError:
    node, found = _deepest(root, finding.path)
    complete = found == len(finding.path)
    # A mapping starts at its first key: the key above it says better what is meant.
    at_key = finding.at_key or not complete or isinstance(node.value, dict)
    place = (node.key_place or node.place) if at_key else node.place
    return JobError(
        message=finding.message,
        place=place,
        path=dotted(finding.path),
        value=_shown(finding, node) if complete else None,
        allowed=finding.allowed,
        suggestion=finding.suggestion,
        context=excerpts.around(place),
    )


def _deepest(root: Node, path: tuple[str | int, ...]) -> tuple[Node, int]:
    """The node at ``path``, or the nearest one above it, and how many steps led there."""
    node = root
    for depth, name in enumerate(path):
        below = dict(node.children()).get(name)
        if below is None:
            return node, depth
        node = below
    return node, len(path)


def _shown(finding: Finding, node: Node) -> str | None:
    if finding.at_key:
        return str(finding.path[-1])[:_LONGEST_VALUE]
    if isinstance(node.value, dict) or node.fault:
        return None
    if finding.message.startswith("a secret"):
        return MASK
    shown = json.dumps(node.plain(), ensure_ascii=False)
    shown = shown if len(shown) <= _LONGEST_VALUE else shown[: _LONGEST_VALUE - 1] + "…"
    return masked_value(finding.path, shown)


def _lines_of_secrets(root: Node) -> _Lines:
    spans = [node for _, node in secret_values(root)]
    spans += [
        node
        for path, node in root.walk()
        if isinstance(node.value, str)
        and (
            "secrets" in path[:-1]
            or any(isinstance(name, str) and names_a_secret(name) for name in path[-1:])
        )
        and not is_price_key(path)
    ]
    return _lines_of(spans)


def _lines_of(nodes: Iterable[Node]) -> _Lines:
    return frozenset(
        (node.place.source, line) for node in nodes for line in range(node.place.line, node.end_line + 1)
    )
