"""Read YAML into nodes that remember where each value stands; refuse what a job never needs.

YAML 1.2's core schema: ``on`` and ``yes`` are text, ``010`` is ten. No aliases (the way to a "YAML bomb"),
no tags (``!!python/object``), no duplicate keys, one document.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import JsonValue

from seedance_ops.jobs.errors import MOST_ERRORS, JobError, JobErrors, Place

MAXIMUM_DEPTH = 40
MAXIMUM_VALUES = 20_000
MAXIMUM_NUMBER_LENGTH = 40
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml where it is there: ten times faster

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")
"""What steers a terminal or ends a string in C; text needs only tab and line break."""
_ALLOWED_CONTROLS = "of control characters only tab and line break"
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED_INTEGER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True)
class Node:
    """A value with its place; for a value in a mapping, the place of its key too."""

    value: str | int | float | bool | dict[str, Node] | list[Node] | None
    place: Place
    end_line: int
    key_place: Place | None = None
    fault: str | None = None
    """Why what is written is no value; ``value`` is then a stand-in, and nothing rests on it."""

    @classmethod
    def of_plain(cls, value: JsonValue, place: Place) -> Node:
        """Nodes for a value that was not read from a file: all at one place."""
        if isinstance(value, dict):
            return cls({key: cls.of_plain(item, place) for key, item in value.items()}, place, place.line)
        if isinstance(value, list):
            return cls([cls.of_plain(item, place) for item in value], place, place.line)
        return cls(value, place, place.line)

    def plain(self) -> JsonValue:
        """The value without places."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def children(self) -> Iterator[tuple[str | int, Node]]:
        """The nodes directly below, by key or index."""
        if isinstance(self.value, dict):
            yield from self.value.items()
        elif isinstance(self.value, list):
            yield from enumerate(self.value)

    def walk(self, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Node]]:
        """This node and all below it, by path."""
        yield path, self
        for key, node in self.children():
            yield from node.walk((*path, key))


def parse_yaml(text: str, source: Path, *, keep_faults: bool = False) -> Node | None:
    """The document's root, ``None`` where there is nothing but comments; raises ``JobErrors``.

    ``keep_faults`` leaves numbers that are none in their nodes (``fault``), for a caller who names them
    beside whatever else is wrong.
    """
    reader = _Reader(source)
    try:
        root = reader.document(text)
    except yaml.MarkedYAMLError as error:
        raise JobErrors([*reader.errors, _syntax_error(error, text, source)]) from None
    except (yaml.YAMLError, ValueError) as error:
        raise JobErrors([*reader.errors, _forbidden(error, text, source)]) from None
    errors = list(reader.errors)
    if root is not None and not keep_faults:
        errors += [JobError(node.fault, node.place) for _, node in root.walk() if node.fault]
    if errors:
        raise JobErrors(errors)
    return root


def _forbidden(error: Exception, text: str, source: Path) -> JobError:
    """A character YAML forbids: the parser knows its offset only, or not even that."""
    found = _CONTROL.search(text)
    if found is None:
        message = f"not YAML: {str(error).splitlines()[0]}; only printable characters in UTF-8 are allowed"
        return JobError(message, Place(source, 1, 1))
    before = text[: found.start()]
    place = Place(source, before.count("\n") + 1, found.start() - before.rfind("\n"))
    return JobError(_control_character(found[0]), place, allowed=_ALLOWED_CONTROLS, suggestion="remove it")


def _control_character(character: str) -> str:
    return f"the control character U+{ord(character):04X}"


def _has_tab(text: str, mark: Any) -> bool:
    """Whether the character at a mark, or the indentation before it, is a tab."""
    line = text.split("\n")[mark.line] if mark and mark.line <= text.count("\n") else ""
    indentation = line[: len(line) - len(line.lstrip(" \t"))]
    return "\t" in indentation or line[mark.column : mark.column + 1] == "\t"


def _syntax_error(error: yaml.MarkedYAMLError, text: str, source: Path) -> JobError:
    mark = error.problem_mark or error.context_mark
    place = Place(source, mark.line + 1, mark.column + 1) if mark else Place(source, 1, 1)
    problem = error.problem or "cannot be read"
    if "\\t" in problem or "tab character" in problem or _has_tab(text, mark):
        return JobError("a tab where YAML allows only spaces", place, suggestion="indent with spaces")
    context = f" ({error.context})" if error.context else ""
    return JobError(f"not YAML: {problem}{context}", place)


def _line(mark: Any) -> int:
    return int(mark.line) + 1  # marks count from 0; every event of a text has them


def _column(mark: Any) -> int:
    return int(mark.column) + 1


@dataclass(frozen=True)
class _Unfit:
    """A scalar that is meant as a number and is none."""

    reason: str


class _Reader:
    """One pass over the parser's events; collects what is refused and reads on."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.errors: list[JobError] = []
        self._values = 0

    def document(self, text: str) -> Node | None:
        root: Node | None = None
        events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._refuse(event, "a second document: one job per file", "split the file at ---")
                    return None
            elif isinstance(event, yaml.NodeEvent):
                root = self._node(event, events, depth=0)
        if root is not None and root.value is None:
            return None
        return root

    def _refuse(self, event: yaml.Event, message: str, suggestion: str | None = None) -> None:
        self.errors.append(JobError(message, self._place(event), suggestion=suggestion))

    def _place(self, event: yaml.Event) -> Place:
        return Place(self.source, _line(event.start_mark), _column(event.start_mark))

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
        if len(self.errors) >= MOST_ERRORS:
            raise JobErrors(self.errors)
        if depth > MAXIMUM_DEPTH:
            self._refuse(event, f"nested more than {MAXIMUM_DEPTH} levels deep")
            raise JobErrors(self.errors)
        self._values += 1
        if self._values > MAXIMUM_VALUES:
            self._refuse(event, f"more than {MAXIMUM_VALUES} values", "a job holds settings, not data")
            raise JobErrors(self.errors)
        if isinstance(event, yaml.AliasEvent):
            self._refuse(
                event,
                f"alias *{event.anchor}: aliases are not read",
                "write the value out, or use defaults.yaml",
            )
            return self._leaf(event, None)
        self._refuse_tag(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(event, events, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event, events, depth)
        assert isinstance(event, yaml.ScalarEvent)
        value = self._scalar(event)
        if isinstance(value, _Unfit):
            return replace(self._leaf(event, 0), fault=value.reason)
        return self._leaf(event, value)

    def _refuse_tag(self, event: yaml.Event) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None:
            shown = str(tag).replace("tag:yaml.org,2002:", "!!")
            self._refuse(event, f"tag {shown}: tags are not read", "write the plain value")

    def _leaf(self, event: yaml.Event, value: str | float | bool | None) -> Node:  # noqa: FBT001
        return Node(value, self._place(event), _line(event.end_mark))

    def _sequence(self, start: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
        items: list[Node] = []
        event = next(events)
        while not isinstance(event, yaml.SequenceEndEvent):
            items.append(self._node(event, events, depth + 1))
            event = next(events)
        return Node(items, self._place(start), _line(event.end_mark))

    def _mapping(self, start: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
        entries: dict[str, Node] = {}
        event = next(events)
        while not isinstance(event, yaml.MappingEndEvent):
            key = self._node(event, events, depth + 1)
            value = self._node(next(events), events, depth + 1)
            if not isinstance(key.value, str):
                self._refuse(event, "a key must be text", "put it in quotes, if it is meant as text")
            elif key.value in entries:
                first = entries[key.value].key_place
                line = first.line if first else 0
                self.errors.append(
                    JobError(
                        "duplicate key", key.place, key.value, suggestion=f"the first stands in line {line}"
                    )
                )
            else:
                entries[key.value] = replace(value, key_place=key.place)
            event = next(events)
        return Node(entries, self._place(start), _line(event.end_mark))

    def _scalar(self, event: yaml.ScalarEvent) -> str | float | bool | _Unfit | None:
        text = str(event.value)
        if any("\ud800" <= character <= "\udfff" for character in text):
            self._refuse(event, "half of a surrogate pair is not a character")
            return ""
        if control := _CONTROL.search(text):
            message = _control_character(control[0])
            self.errors.append(
                JobError(message, self._place(event), allowed=_ALLOWED_CONTROLS, suggestion="remove it")
            )
            return ""
        if not event.implicit[0]:  # quoted or a block: text as it stands
            return text
        if text in _WORDS:
            return _WORDS[text]
        return _number(text)


def _number(text: str) -> str | float | _Unfit:
    if _NOT_FINITE.fullmatch(text):
        return _Unfit(f"{text} is not a finite number")
    if len(text) > MAXIMUM_NUMBER_LENGTH:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _BASED_INTEGER.fullmatch(text):
        return int(text[2:], 8 if text[1] == "o" else 16)
    if not _FLOAT.fullmatch(text):
        return text
    number = float(text)
    return number if math.isfinite(number) else _Unfit("too large for a number")
