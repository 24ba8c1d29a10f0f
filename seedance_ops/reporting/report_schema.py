"""The JSON Schema (draft 2020-12) of ``report.json``, for programs that read it."""

from __future__ import annotations

import json

from seedance_ops.reporting.report_model import Report

FILE_NAME = "report.schema.json"
"""Its name in ``include/schemas``."""


def report_schema_text() -> str:
    """The schema as it stands in its file."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://seedance.ops/schemas/{FILE_NAME}",
        **Report.model_json_schema(by_alias=True, mode="serialization"),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
