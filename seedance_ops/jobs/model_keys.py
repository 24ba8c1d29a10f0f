"""Follow a validation error's location through the models' types: which keys and fields stand there."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

Location = tuple[str | int, ...]


def allowed_keys(model: type[BaseModel], location: Location) -> list[str]:
    """The keys a mapping at ``location`` may have; empty where any key may stand."""
    return [
        field.alias or name
        for place in _follow(model, location)
        if _is_model(place)
        for name, field in place.model_fields.items()
    ]


def described_by(model: type[BaseModel], location: Location) -> str | None:
    """The description of the field at ``location``."""
    if not location or not isinstance(location[-1], str):
        return None
    for place in _follow(model, location[:-1]):
        field = _field(place, location[-1])
        if field is not None and field.description:
            return " ".join(field.description.split())
    return None


def allowed_values(model: type[BaseModel], location: Location, key: str) -> list[str]:
    """The words that tell the members of a union apart, where ``key`` is the field that has them."""
    fields = (_field(place, key) for place in _follow(model, location))
    return [str(word) for field in fields if field for word in _words(field.annotation)]


def _words(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _follow(model: type[BaseModel], location: Location) -> list[Any]:
    places: list[Any] = [model]
    for step in location:
        below = [kind for place in places for kind in _below(place, step)]
        # Nothing below: the step is the tag of a union's member, not a key.
        places = below or [place for place in places if _has_tag(place, step)] or places
    return places


def _below(place: Any, step: str | int) -> Iterable[Any]:
    if _is_model(place):
        field = _field(place, step)
        return _members(field.annotation) if field else ()
    origin, arguments = get_origin(place), get_args(place)
    if origin is dict:
        return _members(arguments[1])
    if origin in (tuple, list) and isinstance(step, int):
        return _members(arguments[0])
    return ()


def _field(place: Any, step: str | int) -> FieldInfo | None:
    if not _is_model(place):
        return None
    fields: dict[str, FieldInfo] = place.model_fields
    return next((field for name, field in fields.items() if (field.alias or name) == step), None)


def _has_tag(place: Any, tag: str | int) -> bool:
    """Whether it is the union's member of that tag: a field that can have no other value says so."""
    return _is_model(place) and any(
        get_origin(field.annotation) is Literal and get_args(field.annotation) == (tag,)
        for field in place.model_fields.values()
    )


def _members(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _members(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def _is_model(place: Any) -> bool:
    return isinstance(place, type) and issubclass(place, BaseModel)
