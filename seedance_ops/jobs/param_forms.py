"""What the trigger form shows for each of a job's ``params``: a flat JSON Schema with the job's own value."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, JsonValue

from seedance_ops.jobs.training_job import TrainingJob

FIXED = (
    "apiVersion",
    "kind",
    "metadata",
    "schedule",
    "params",
    "storage",
    "workload.entrypoint",
    "workload.command",
    "workload.workdir",
    "workload.code",
    "workload.secrets",
    "workload.inputs",
    "workload.runtime",
    "workload.launch",
)
"""What a run may not change: the job's identity, its program, and where its results go."""

ParamSchema = dict[str, JsonValue]


class UnfitParamError(ValueError):
    """A path that a trigger form cannot offer."""

    def __init__(self, message: str, *, unknown: bool = False) -> None:
        super().__init__(message)
        self.unknown = unknown
        self.fixed = FIXED


def param_schemas(job: TrainingJob) -> dict[str, ParamSchema]:
    """For every path in ``params``, what ``Param(**schema)`` takes: default, title, type and bounds."""
    return {path: param_schema(job, path) for path in job.params}


def param_schema(job: TrainingJob, path: str) -> ParamSchema:
    """One path's schema; raises ``UnfitParamError``."""
    if any(f"{path}.".startswith(f"{fixed}.") for fixed in FIXED):
        raise UnfitParamError("a run may not change this")
    owner: Any = job
    names = path.split(".")
    for depth, name in enumerate(names[:-1]):
        owner = _part(owner, name, ".".join(names[: depth + 1]))
    value = _part(owner, names[-1], path)
    if isinstance(value, BaseModel | dict):
        raise UnfitParamError("not a single value: name one of its keys", unknown=True)
    schema = _field_schema(owner, names[-1]) if isinstance(owner, BaseModel) else _value_schema(value)
    if "const" in schema:
        raise UnfitParamError("a run may not change the kind of a block")
    plain: JsonValue = list(value) if isinstance(value, tuple) else value
    return {**_with_null(schema, plain), "default": plain, "title": path}


def _part(owner: Any, name: str, path: str) -> Any:
    if isinstance(owner, BaseModel):
        for field_name, field in type(owner).model_fields.items():
            if (field.alias or field_name) == name:
                return getattr(owner, field_name)
    elif isinstance(owner, dict) and name in owner:
        return owner[name]
    elif isinstance(owner, tuple | list) and name.isascii() and name.isdigit() and int(name[:6]) < len(owner):
        return owner[int(name[:6])]
    raise UnfitParamError(f"there is no {path} in this job", unknown=True)


def _field_schema(owner: BaseModel, name: str) -> ParamSchema:
    whole = type(owner).model_json_schema(by_alias=True)
    schema: dict[str, Any] = dict(whole["properties"][name])
    options = schema.pop("anyOf", None)
    if options is not None:
        concrete = [option for option in options if option.get("type") != "null"]
        if len(concrete) == 1:
            schema |= concrete[0]
    if "$ref" in schema or "oneOf" in schema:
        # A choice between a name and a block (launcher): the form offers the name.
        schema = {
            "type": "string",
            **({"description": schema["description"]} if "description" in schema else {}),
        }
    schema.pop("default", None)
    schema.pop("title", None)
    return schema


def _value_schema(value: JsonValue) -> ParamSchema:
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer"}
    if isinstance(value, float):
        return {"type": "number"}
    if isinstance(value, list):
        return {"type": "array"}
    return {"type": "string"}


def _with_null(schema: ParamSchema, value: JsonValue) -> ParamSchema:
    kind = schema.get("type")
    if value is None and isinstance(kind, str):
        return {**schema, "type": [kind, "null"]}
    return schema
