"""The row of a validated frame that an expectation is about, and the GE metric that reads it."""

from __future__ import annotations

from typing import Any

import pandas as pd
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider


def one_row(
    engine: PandasExecutionEngine, domain_kwargs: dict[str, Any], keys: dict[str, str]
) -> pd.Series[Any]:
    """The only row with these keys; raises ``ValueError`` where there is none, or more than one."""
    frame: pd.DataFrame = engine.get_compute_domain(
        domain_kwargs=domain_kwargs, domain_type=MetricDomainTypes.TABLE
    )[0]
    for column, value in keys.items():
        frame = frame[frame[column] == value]
    if len(frame) != 1:
        named = ", ".join(f"{key} {value}" for key, value in keys.items())
        raise ValueError(f"{named}: {len(frame)} rows, not one")
    return frame.iloc[0]


class OneRowMetric(TableMetricProvider):
    """Reads the one row with the values of ``value_keys``; a subclass names itself, keys and content."""

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805 - GE makes it a class method
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],  # noqa: ARG002
        runtime_configuration: dict[str, Any],  # noqa: ARG002
    ) -> dict[str, Any]:
        keys = {name: metric_value_kwargs[name] for name in cls.value_keys}
        return cls.read(one_row(execution_engine, metric_domain_kwargs, keys))

    @staticmethod
    def read(row: pd.Series[Any]) -> dict[str, Any]:
        """What the expectation needs of the row."""
        raise NotImplementedError
