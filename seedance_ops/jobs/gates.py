"""Gates: what must hold of a variant before it may be accepted."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from seedance_ops.jobs.names import MetricName
from seedance_ops.strict_model import StrictModel

COMPARISONS = ("change_at_most", "change_at_least", "equivalent_within", "non_inferior_within")
LEVELS = ("at_most", "at_least")
Condition = Literal[
    "change_at_most", "change_at_least", "equivalent_within", "non_inferior_within", "at_most", "at_least"
]

Severity = Literal["error", "approval", "warning"]


def _exactly_one(*names: str) -> dict[str, Any]:
    return {"oneOf": [{"required": [name]} for name in names]}


class Change(StrictModel):
    """A difference from the compared variant, in one of two scales."""

    model_config = ConfigDict(json_schema_extra=_exactly_one("relative", "absolute"))

    relative: float | None = Field(default=None, ge=-1.0)
    """Share of the compared variant's value: -0.45 is 45 % less."""
    absolute: float | None = None
    """In the metric's own unit."""

    @model_validator(mode="after")
    def _one_scale(self) -> Change:
        if (self.relative is None) == (self.absolute is None):
            raise ValueError("give exactly one of relative, absolute")
        return self


class Margin(StrictModel):
    """A band around the compared variant's value, in one of two scales."""

    model_config = ConfigDict(json_schema_extra=_exactly_one("relative", "absolute"))

    relative: float | None = Field(default=None, gt=0.0)
    """Half width as a share of the compared variant's value."""
    absolute: float | None = Field(default=None, gt=0.0)
    """Half width in the metric's own unit."""

    @model_validator(mode="after")
    def _one_scale(self) -> Margin:
        if (self.relative is None) == (self.absolute is None):
            raise ValueError("give exactly one of relative, absolute")
        return self


class Gate(StrictModel):
    """One condition on one metric; exactly one of the six conditions."""

    model_config = ConfigDict(json_schema_extra=_exactly_one(*COMPARISONS, *LEVELS))

    metric: MetricName
    """A metric of the registry, the workload's quality metric or one of ``workload.metrics``."""
    compared_to: str | None = None
    """The variant to compare with; only for ``change_…`` and ``…_within``."""
    change_at_most: Change | None = None
    """The change must not exceed this: ``{relative: -0.45}`` demands at least 45 % less."""
    change_at_least: Change | None = None
    """The change must reach this."""
    equivalent_within: Margin | None = None
    """The difference must lie in this band, by an equivalence test (TOST)."""
    non_inferior_within: Margin | None = None
    """The metric may be worse by less than this, and better by any amount; what is better, it says itself."""
    at_most: float | None = None
    """Upper bound of the metric itself, in its unit."""
    at_least: float | None = None
    """Lower bound of the metric itself, in its unit."""
    severity: Severity = "error"
    """Failed, ``error`` rejects the variant, ``approval`` asks a person, ``warning`` is reported."""
    variants: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The variants it applies to; default: all but the one compared to."""

    @model_validator(mode="after")
    def _one_condition(self) -> Gate:
        given = [name for name in (*COMPARISONS, *LEVELS) if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join((*COMPARISONS, *LEVELS))}")
        if given[0] in COMPARISONS and self.compared_to is None:
            raise ValueError(f"{given[0]} needs compared_to: the variant to compare with")
        if given[0] in LEVELS and self.compared_to is not None:
            raise ValueError(f"{given[0]} is a bound on the metric itself and takes no compared_to")
        return self

    @property
    def demands(self) -> bool:
        """Whether a variant is accepted only if this gate has an answer."""
        return self.severity != "warning"

    @property
    def condition(self) -> Condition:
        """Which of the six conditions this gate states."""
        return next(name for name in _CONDITIONS if getattr(self, name) is not None)

    def applies_to(self, variant: str) -> bool:
        """Whether the gate judges this variant: never the one it compares to."""
        return variant != self.compared_to and (self.variants is None or variant in self.variants)


_CONDITIONS: tuple[Condition, ...] = (
    "change_at_most",
    "change_at_least",
    "equivalent_within",
    "non_inferior_within",
    "at_most",
    "at_least",
)
