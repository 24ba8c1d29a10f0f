"""One Great Expectations validation, with guards against the ways in which it passes silently."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

GATE_EXPECTATION = "expect_gate_to_hold"
"""The type of a gate's expectation, as GE derives it from its class."""
Declared = Mapping[str, Any]
"""An expectation as a suite's YAML has it: ``type``, ``kwargs``, ``severity``."""


@dataclass(frozen=True)
class Checked:
    """One expectation's result. ``error``: it raised, so it says nothing about the data."""

    kwargs: dict[str, Any]
    outcome: Literal["pass", "fail", "error"]
    result: dict[str, Any]
    error: str | None = None


@dataclass(frozen=True)
class Validation:
    """What was checked, and what was wrong with the checking; with a problem nothing may pass."""

    checked: tuple[Checked, ...]
    problems: tuple[str, ...]


def validate(frame: pd.DataFrame, declared: Sequence[Declared], *, minimum_rows: int) -> Validation:
    """Hold a frame against the declared expectations.

    Great Expectations drops an expectation of unknown type with a log line, calls an emptied suite a
    success, and passes most checks on an empty frame. So: as many are loaded and evaluated as were
    declared, at least one, on at least ``minimum_rows`` rows.
    """
    import great_expectations as gx
    from great_expectations.compatibility.pydantic import ValidationError
    from great_expectations.core import ExpectationSuite
    from great_expectations.data_context.types.base import ProgressBarsConfig

    from seedance_ops.quality import data_expectations, expectation  # noqa: F401 - registers the project's own

    with _quiet():
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        try:
            suite = ExpectationSuite(name="gates", expectations=[dict(entry) for entry in declared])
        except ValidationError as error:
            return Validation((), (f"an expectation's arguments do not fit it: {error}",))
        asset = context.data_sources.add_pandas("runs").add_dataframe_asset("gates")
        batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
        outcome = batch.validate(suite)
    checked = tuple(_checked(result) for result in outcome.results)
    return Validation(checked, tuple(_problems(frame, declared, suite.expectations, checked, minimum_rows)))


def _problems(
    frame: pd.DataFrame,
    declared: Sequence[Declared],
    loaded: Sequence[Any],
    checked: Sequence[Checked],
    minimum_rows: int,
) -> Iterator[str]:
    if len(loaded) != len(declared):
        known = {entry.expectation_type for entry in loaded}
        lost = sorted({str(entry["type"]) for entry in declared} - known)
        names = f"; not known: {', '.join(lost)}" if lost else ""
        yield f"{len(declared)} expectations were declared, {len(loaded)} could be loaded{names}"
    if not checked:
        yield "no expectation was evaluated"
    elif len(checked) != len(declared):
        yield f"{len(declared)} expectations were declared, {len(checked)} were evaluated"
    if len(frame) < minimum_rows:
        yield f"the frame has {len(frame)} rows, at least {minimum_rows} were declared"


def _checked(result: Any) -> Checked:
    error = _raised(result.exception_info or {})
    kwargs = dict(result.expectation_config.kwargs)
    if error is not None:
        return Checked(kwargs, "error", {}, error)
    return Checked(kwargs, "pass" if result.success is True else "fail", dict(result.result))


def _raised(information: Mapping[str, Any]) -> str | None:
    """The message of what an expectation raised; GE nests it below the metric that raised, or does not."""
    if information.get("raised_exception"):
        return str(information.get("exception_message") or "it raised")
    nested = [value for value in information.values() if isinstance(value, Mapping)]
    return next((message for value in nested if (message := _raised(value)) is not None), None)


@contextmanager
def _quiet() -> Iterator[None]:
    """GE logs a traceback for what the guards report in a sentence."""
    logger = logging.getLogger("great_expectations")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
