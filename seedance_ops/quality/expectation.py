"""The Great Expectations expectation that decides one gate: the evidence's interval against the bound."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd
from great_expectations.expectations.expectation import BatchExpectation

from seedance_ops.quality.one_row import OneRowMetric

_METRIC = "table.gate_evidence"


class GateEvidence(OneRowMetric):
    """The one row of the evidence that belongs to a gate and a variant."""

    metric_name = _METRIC
    value_keys = ("gate", "variant")

    @staticmethod
    def read(row: pd.Series[Any]) -> dict[str, Any]:
        """See ``OneRowMetric``."""
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
