"""The Great Expectations expectation that decides one published claim: recomputed, it must agree."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd
from great_expectations.expectations.expectation import BatchExpectation

from seedance_ops.quality.one_row import OneRowMetric

_METRIC = "table.recomputed_claim"


class RecomputedClaim(OneRowMetric):
    """The one row that belongs to a claim."""

    metric_name = _METRIC
    value_keys = ("claim",)

    @staticmethod
    def read(row: pd.Series[Any]) -> dict[str, Any]:
        """See ``OneRowMetric``."""
        return {name: str(row[name]) for name in ("outcome", "stated", "right")}


class ExpectClaimToAgree(BatchExpectation):
    """What a publication derives from its figures must follow from them."""

    claim: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (_METRIC,)
    success_keys: ClassVar[tuple[str, ...]] = ("claim",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002
        execution_engine: Any = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        observed = metrics[_METRIC]
        return {"success": observed["outcome"] == "agrees", "result": {"observed_value": observed}}
