"""The published schema of ``report.json`` is in step with the model, and accepts a report."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from seedance_ops.reporting.report_schema import FILE_NAME, report_schema_text
from tests.unit.reporting.test_report import report_of

STORED = Path(__file__).parents[3] / "include/schemas" / FILE_NAME


def test_the_file_is_in_step_with_the_model():
    stored = STORED.read_text(encoding="utf-8")
    assert stored == report_schema_text(), (
        f"run: seedance report --schema --output include/schemas/{FILE_NAME}"
    )


def test_it_accepts_a_report_and_refuses_what_is_none(judged):
    schema = json.loads(report_schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    report = json.loads(report_of(judged).as_json())
    jsonschema.validate(report, schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert not validator.is_valid(report | {"headline": 1})
    assert not validator.is_valid(report | {"invented": 1})
