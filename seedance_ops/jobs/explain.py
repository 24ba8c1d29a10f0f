"""Turn Pydantic's validation errors into findings that a person can act on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import BaseModel, JsonValue, ValidationError

from seedance_ops.jobs.findings import Finding, Path, listed, nearest
from seedance_ops.jobs.model_keys import allowed_keys, allowed_values, described_by
from seedance_ops.jobs.names import NAME_PATTERN, NAME_RULE
from seedance_ops.jobs.strategies import (
    JOB_KINDS,
    UNAVAILABLE_JOB_KINDS,
    UNAVAILABLE_LAUNCHER_KINDS,
    strategy_finding,
)

_PATTERN_RULES = {
    NAME_PATTERN: NAME_RULE,
    r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:/[^\x00-\x1f]+)$": "env:NAME or file:/path, never the secret itself",
    r"^[A-Za-z][A-Za-z0-9._-]{0,39}:[1-9][0-9]{0,3}$": "kind:count, for example H100:8 or cpu:2",
    r"^[1-9][0-9]*(Ki|Mi|Gi)$": "a size such as 512Mi or 16Gi",
    r"^[a-z][a-z0-9_]{0,62}$": "lower-case letters, digits and underscores, starting with a letter",
    r"^[A-Za-z_][A-Za-z0-9_]*$": "letters, digits and underscores",
    r"^[^\s/\\][^\x00-\x1f\\]*$": "a path relative to the project, with forward slashes",
}


def explain(error: ValidationError, model: type[BaseModel], data: JsonValue) -> list[Finding]:
    """One finding per faulty key, in Pydantic's order."""
    found: dict[Path, Finding] = {}
    for detail in error.errors(include_url=False, include_input=False):
        finding = _finding(detail, model, data)
        earlier = found.get(finding.path)
        if earlier is None:
            found[finding.path] = finding
        elif finding.message.removeprefix("must be ") not in earlier.message:
            # Several members of one union, each with its own complaint about the same value.
            merged = f"{earlier.message} or {finding.message.removeprefix('must be ')}"
            found[finding.path] = Finding(finding.path, merged, suggestion=earlier.suggestion)
    return list(found.values())


def data_path(location: Path, data: JsonValue) -> Path:
    """The keys of ``location`` that exist in the data, without Pydantic's names for unions' members."""
    return tuple(name for name, _ in _steps(location, data))


def _steps(location: Path, data: JsonValue) -> Iterator[tuple[str | int, JsonValue]]:
    for name in location:
        if isinstance(data, dict) and name in data:
            data = data[str(name)]
            yield name, data
        elif isinstance(data, list) and isinstance(name, int) and name < len(data):
            data = data[name]
            yield name, data


def _value_at(path: Path, data: JsonValue) -> JsonValue:
    for _, value in _steps(path, data):
        data = value
    return data


def _finding(detail: Any, model: type[BaseModel], data: JsonValue) -> Finding:
    location: Path = detail["loc"]
    path = data_path(location, data)
    explainer = _EXPLAINERS.get(detail["type"])
    if explainer is not None:
        return explainer(detail, model, path, _value_at(path, data))
    message = str(detail["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    if location[-1:] == ("[key]",):
        return _pattern(detail, model, path, None)
    suggestion = _mend_type(detail["type"], _value_at(path, data))
    allowed = described_by(model, location) if detail["type"] != "value_error" else None
    return Finding(path, message, allowed=allowed, suggestion=suggestion)


def _mend_type(kind: str, value: JsonValue) -> str | None:
    if kind == "string_type" and isinstance(value, bool | int | float):
        return "put it in quotes, if it is meant as text"
    if kind == "bool_type" and str(value).lower() in ("yes", "no", "on", "off"):
        return "true" if str(value).lower() in ("yes", "on") else "false"
    if kind in ("int_type", "float_type") and isinstance(value, str):
        return "write the number without quotes, units or underscores"
    return None


def _unknown_key(detail: Any, model: type[BaseModel], path: Path, _: JsonValue) -> Finding:
    key = str(path[-1])
    in_variant = len(path) == 3 and path[0] == "variants"
    if finding := strategy_finding(path, key, in_variant=in_variant):
        return finding
    keys = allowed_keys(model, detail["loc"][:-1])
    return Finding(path, "unknown key", allowed=listed(keys), suggestion=nearest(key, keys), at_key=True)


def _missing_key(detail: Any, model: type[BaseModel], path: Path, _: JsonValue) -> Finding:
    key = str(detail["loc"][-1])
    return Finding((*path, key), f"required key {key} is missing", allowed=described_by(model, detail["loc"]))


def _literal(detail: Any, _: type[BaseModel], path: Path, value: JsonValue) -> Finding:
    expected = str(detail["ctx"]["expected"])
    if path[-1:] == ("kind",) and value in (*UNAVAILABLE_LAUNCHER_KINDS, *UNAVAILABLE_JOB_KINDS):
        allowed = listed(JOB_KINDS) if len(path) == 1 else expected.replace("'", "")
        return Finding(path, f"{value} is not yet available", allowed=allowed)
    choices = expected.replace("'", "").replace(" or ", ", ").split(", ")
    if path == ("kind",) and choices[0] in JOB_KINDS:
        choices = list(JOB_KINDS)  # the model in use is a guess where the file does not say which
    return Finding(path, "not one of the allowed values", listed(choices), nearest(value, choices))


def _tag(detail: Any, model: type[BaseModel], path: Path, value: JsonValue) -> Finding:
    key = str(detail["ctx"]["discriminator"]).strip("'")
    choices = allowed_values(model, detail["loc"], key)
    if not isinstance(value, dict):
        return Finding(path, "must be a mapping")
    if key not in value:
        meant = next((written for written in value if nearest(written, [key])), None)
        return Finding(
            (*path, key),
            f"required key {key} is missing",
            allowed=listed(choices) or None,
            suggestion=f"{key} in place of {meant}" if meant else None,
        )
    return Finding(
        (*path, key), "not one of the allowed values", listed(choices), nearest(value[key], choices)
    )


def _pattern(detail: Any, model: type[BaseModel], path: Path, _: JsonValue) -> Finding:
    is_key = detail["loc"][-1:] == ("[key]",)
    pattern = detail.get("ctx", {}).get("pattern", "")
    rule = _PATTERN_RULES.get(pattern) or described_by(model, detail["loc"]) or f"the pattern {pattern}"
    return Finding(
        path, "not a valid name" if is_key else "does not have the right form", rule, at_key=is_key
    )


def _mapping(detail: Any, model: type[BaseModel], path: Path, _: JsonValue) -> Finding:
    keys = allowed_keys(model, detail["loc"])
    return Finding(path, "must be a mapping", allowed=f"the keys {listed(keys)}" if keys else None)


def _too_short(detail: Any, model: type[BaseModel], path: Path, _: JsonValue) -> Finding:
    least = detail["ctx"]["min_length"]
    return Finding(
        path, f"needs at least {least} entr{'y' if least == 1 else 'ies'}", described_by(model, detail["loc"])
    )


_EXPLAINERS: dict[str, Callable[[Any, type[BaseModel], Path, JsonValue], Finding]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing_key,
    "literal_error": _literal,
    "union_tag_invalid": _tag,
    "union_tag_not_found": _tag,
    "string_pattern_mismatch": _pattern,
    "model_type": _mapping,
    "model_attributes_type": _mapping,
    "dict_type": _mapping,
    "too_short": _too_short,
}
