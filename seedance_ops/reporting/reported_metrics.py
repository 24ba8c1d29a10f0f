"""Reads the JSON lines in which an unchanged program reports its metrics: anybody may have written them."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_MOST_PROBLEMS = 20


def reported_evaluations(data: bytes) -> tuple[list[dict[str, Any]], list[str]]:
    """One row per well-formed line ``{"metric": NAME, "value": NUMBER, "step": …}``, and what was not.

    A value that is not finite is named and kept, so that a diverged run has no quality instead of an
    earlier, better one.
    """
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = _row(line)
        except (ValueError, OverflowError, RecursionError) as error:
            problems.append(f"line {number}: {error}")
            continue
        if not math.isfinite(row["value"]):
            problems.append(f"line {number}: {row['metric']} is {row['value']}")
            row["value"] = math.nan
        rows.append({"step": len(rows), **row})
    hidden = len(problems) - _MOST_PROBLEMS
    return rows, problems if hidden <= 0 else [*problems[:_MOST_PROBLEMS], f"and {hidden} more lines"]


def _row(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError:
        raise ValueError("is not JSON") from None
    if not isinstance(entry, dict):
        raise ValueError("is not an object with the keys metric and value")  # noqa: TRY004 - bad input
    name = entry.get("metric")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("has no metric name in lower case")
    row: dict[str, Any] = {"metric": name, "value": _number(entry, "value")}
    for key, column in (("at_s", "at_s"), ("train_elapsed_s", "train_elapsed_s")):
        if entry.get(key) is not None:
            row[column] = _number(entry, key)
    for key, column in (("step", "step"), ("samples", "samples_seen"), ("samples_seen", "samples_seen")):
        if entry.get(key) is not None:
            row[column] = _count(entry, key)
    return row


def _number(entry: dict[str, Any], key: str) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"has no number under {key}")  # noqa: TRY004 - bad input
    return float(value)


def _count(entry: dict[str, Any], key: str) -> int:
    value = entry[key]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError(f"has no whole number under {key}")
    return value
