"""The Great Expectations expectation that decides one published claim: recomputed, it must agree."""

from __future__ import annotations

from typing import Any, ClassVar

from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from seedance_ops.quality.one_row import one_row

_METRIC = "table.recomputed_claim"


class RecomputedClaim(TableMetricProvider):
    """The one row that belongs to a claim."""

    metric_name = _METRIC
    value_keys = ("claim",)

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805 - GE makes it a class method
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],  # noqa: ARG002
        runtime_configuration: dict[str, Any],  # noqa: ARG002
    ) -> dict[str, str]:
        keys = {name: metric_value_kwargs[name] for name in cls.value_keys}
        row = one_row(execution_engine, metric_domain_kwargs, keys)
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
