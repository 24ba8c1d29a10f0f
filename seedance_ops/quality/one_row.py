"""The row of a validated frame that an expectation is about."""

from __future__ import annotations

from typing import Any

import pandas as pd
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine


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
