"""The Great Expectations expectation that decides one gate: the evidence's interval against the bound."""

from __future__ import annotations

from typing import Any, ClassVar

from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from seedance_ops.quality.one_row import one_row

_METRIC = "table.gate_evidence"


class GateEvidence(TableMetricProvider):
    """The one row of the evidence that belongs to a gate and a variant."""

    metric_name = _METRIC
    value_keys = ("gate", "variant")

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
        row = one_row(execution_engine, metric_domain_kwargs, keys)
        return {
            "judgeable": bool(row["judgeable"]),
            "low": float(row["low"]),
            "high": float(row["high"]),
            "p_adjusted": float(row["p_adjusted"]),
        }


class ExpectGateToHold(BatchExpectation):
    """The interval of a gate's evidence must lie within the limits; evidence that is not judgeable fails.

    With ``alpha``, the p value adjusted for the other variants of the gate must not exceed it either.
    """

    gate: str
    variant: str
    lowest: float | None = None
    highest: float | None = None
    strict: bool = False
    alpha: float | None = None

    metric_dependencies: ClassVar[tuple[str, ...]] = (_METRIC,)
    success_keys: ClassVar[tuple[str, ...]] = ("gate", "variant", "lowest", "highest", "strict", "alpha")

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002
        execution_engine: Any = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        observed = metrics[_METRIC]
        excess = [0.0]
        holds = observed["judgeable"] and (self.lowest is not None or self.highest is not None)
        # Written so that a NaN never holds.
        if self.highest is not None:
            inside = observed["high"] < self.highest if self.strict else observed["high"] <= self.highest
            holds = holds and inside
            excess.append(observed["high"] - self.highest)
        if self.lowest is not None:
            inside = observed["low"] > self.lowest if self.strict else observed["low"] >= self.lowest
            holds = holds and inside
            excess.append(self.lowest - observed["low"])
        alone = bool(holds)
        among_all = alone and (self.alpha is None or observed["p_adjusted"] <= self.alpha)
        result = {"observed_value": observed, "exceeds_by": max(excess), "holds_alone": alone}
        return {"success": bool(among_all), "result": result}
