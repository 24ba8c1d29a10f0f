"""Whatever a program writes into its metrics file, reading it names what is wrong and goes on."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.reporting.reported_metrics import reported_evaluations


def test_a_line_is_a_metric_a_value_and_where_it_was_measured():
    rows, problems = reported_evaluations(
        b'{"metric": "error", "value": 0.5, "step": 7, "samples": 70, "at_s": 1.5}\n'
        b'\n{"metric": "error", "value": 1}'
    )
    assert problems == []
    assert rows[0] == {"metric": "error", "value": 0.5, "step": 7, "samples_seen": 70, "at_s": 1.5}
    assert rows[1]["step"] == 1


@pytest.mark.parametrize(
    "line",
    [
        "loss=0.5", "[]", "1", "{}", '{"metric": "error"}', '{"metric": "error", "value": "0.5"}',
        '{"metric": "error", "value": true}', '{"metric": 3, "value": 1}',
        '{"metric": "Bad Name", "value": 1}',
        '{"metric": "error", "value": 1' + "0" * 400 + "}", '{"metric": "error", "value": 1, "step": -1}',
        '{"metric": "error", "value": 1, "step": 1.5}', "[" * 100_000,
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_named_by_its_number(line):
    rows, (problem,) = reported_evaluations(f'{{"metric": "error", "value": 1}}\n{line}'.encode())
    assert len(rows) == 1
    assert problem.startswith("line 2: ")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_value_that_is_not_finite_is_named_and_hides_no_earlier_one(value):
    rows, (problem,) = reported_evaluations(f'{{"metric": "error", "value": {value}}}'.encode())
    assert math.isnan(rows[0]["value"])
    assert problem.startswith("line 1: error is ")


def test_a_thousand_bad_lines_are_not_a_thousand_problems():
    rows, problems = reported_evaluations(b"garbage\n" * 1000)
    assert rows == []
    assert problems[-1] == "and 980 more lines"


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read(data):
    reported_evaluations(data)
