"""The Great Expectations expectations that decide the data checks: what a check counted against its share."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd
from great_expectations.expectations.expectation import BatchExpectation

from seedance_ops.quality.one_row import OneRowMetric

_METRIC = "table.data_fact"


class DataFactRow(OneRowMetric):
    """The one row of the evidence that belongs to a data check and a variant."""

    metric_name = _METRIC
    value_keys = ("gate", "variant")

    @staticmethod
    def read(row: pd.Series[Any]) -> dict[str, Any]:
        """See ``OneRowMetric``."""
        return {name: int(row[name]) for name in ("checked", "violations")}


class _ExpectData(BatchExpectation):
    """Something was checked, and at least the share ``mostly`` of it is as it must be."""

    gate: str
    variant: str
    mostly: float = 1.0

    metric_dependencies: ClassVar[tuple[str, ...]] = (_METRIC,)
    success_keys: ClassVar[tuple[str, ...]] = ("gate", "variant", "mostly")

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002
        execution_engine: Any = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        observed = metrics[_METRIC]
        checked, violations = observed["checked"], observed["violations"]
        # Of what may not be excused there can be more than was looked at: rows that nobody planned.
        excused = violations == 0 or (self.mostly < 1.0 and checked - violations >= self.mostly * checked)
        return {"success": checked > 0 and excused, "result": {"observed_value": observed}}


class ExpectRunsToBeComplete(_ExpectData):
    """Every planned run and rank reported, once, and nothing else did."""


class ExpectStepsToBeFinite(_ExpectData):
    """No NaN and no infinity in the step records."""


class ExpectUtilisationToBeInRange(_ExpectData):
    """Every utilisation lies from 0 to 1."""


class ExpectStepsToBeMonotone(_ExpectData):
    """Neither step nor time goes back within a submission of a rank."""


class ExpectBytesToBeConsistent(_ExpectData):
    """Every rank sent what its algorithm sends."""


class ExpectPricesToBeSane(_ExpectData):
    """Every price is plausible for what it buys."""


class ExpectFAndPToBeConsistent(_ExpectData):
    """The F and p of every comparison can belong together."""
