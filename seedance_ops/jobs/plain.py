"""From plain data (what YAML and JSON hold) to models, without coercing one type into another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, JsonValue

Model = TypeVar("Model", bound=BaseModel)


def from_plain(model: type[Model], data: Mapping[str, JsonValue]) -> Model:
    """Validate strictly: ``"2"`` is no integer and ``yes`` no boolean.

    By way of JSON, because Pydantic's strict mode accepts lists for tuples only there. Raises
    ``pydantic.ValidationError``.
    """
    return model.model_validate_json(json.dumps(data), strict=True)
