"""Values are read by YAML 1.2's core schema, and keep their places."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.jobs.yaml_nodes import parse_yaml

SOURCE = Path("job.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("True", True),
        ("~", None),
        ("", None),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("1e-3", 0.001),
        (".5", 0.5),
        ("-3", -3),
        ("2024-01-01", "2024-01-01"),
        ('"3"', "3"),
        ("'true'", "true"),
        ("=", "="),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_a_plain_scalar_is_read_by_the_core_schema(text, value):
    root = parse_yaml(f"a: {text}\n", SOURCE)
    assert root is not None
    assert root.plain() == {"a": value}


def test_every_value_knows_its_line_and_column():
    root = parse_yaml("a:\n  - b: 1\n    c: [2, x]\n", SOURCE)
    assert root is not None
    places = {path: (node.place.line, node.place.column) for path, node in root.walk()}
    assert places["a", 0, "b"] == (2, 8)
    assert places["a", 0, "c", 1] == (3, 12)


@given(
    st.one_of(st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
)
def test_a_number_survives(value):
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    root = parse_yaml(f"a: {text}", SOURCE)
    assert root is not None
    read = root.plain()["a"]
    assert type(read) is type(value)
    assert math.isclose(read, value, rel_tol=0, abs_tol=0)
