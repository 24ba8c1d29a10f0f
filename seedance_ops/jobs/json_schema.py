"""JSON Schemas (draft 2020-12) of everything a user writes, for editors and other tools."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from seedance_ops.audit.published import PublishedFigures
from seedance_ops.jobs.loader import KINDS
from seedance_ops.jobs.profiles import LauncherCatalog

SCHEMA_MODELS: dict[str, type[BaseModel]] = {
    **KINDS,
    "LauncherCatalog": LauncherCatalog,
    "PublishedFigures": PublishedFigures,
}
"""Every model with a published schema, by kind."""


def json_schema(kind: str) -> dict[str, Any]:
    """One kind's schema; raises ``KeyError`` for an unknown kind."""
    schema = SCHEMA_MODELS[kind].model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://seedance.ops/schemas/{schema_file_name(kind)}",
        **schema,
    }


def schema_file_name(kind: str) -> str:
    """``TrainingJob`` → ``training-job.schema.json``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", kind).lower() + ".schema.json"


def schema_text(kind: str) -> str:
    """One kind's schema as it stands in its file."""
    return json.dumps(json_schema(kind), indent=2, ensure_ascii=False) + "\n"


def write_schemas(folder: Path) -> list[Path]:
    """Write every schema into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / schema_file_name(kind) for kind in SCHEMA_MODELS]
    for kind, file in zip(SCHEMA_MODELS, written, strict=True):
        file.write_text(schema_text(kind), encoding="utf-8")
    return written
