"""What a publication says about its own figures: one model a kind of claim."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seedance_ops.audit.printed import PrintedText
from seedance_ops.strict_model import StrictModel

Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Reference = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*$", max_length=200)]
"""``table.row.column``, or the name of a figure."""
Unit = Annotated[str, Field(min_length=1, max_length=60)]
"""A unit as ``USD/(TFLOPS*hour)``, ``ms``, ``percent`` or ``1``."""


class _Claim(StrictModel):
    where: str = Field(min_length=1, max_length=300)
    """Where it is published: chapter, table, page."""
    quote: str | None = Field(default=None, max_length=1000)
    """Its own words."""


class PercentChange(_Claim):
    """A change in percent from one figure to another: ``100 × (to − from) ÷ from``."""

    kind: Literal["percent_change"]
    """What kind of claim it is."""
    start: Reference = Field(alias="from")
    """The figure before."""
    to: Reference
    """The figure after."""
    stated: PrintedText
    """The change as printed, in percent and with its sign."""


class Ratio(_Claim):
    """One figure as a multiple of another."""

    kind: Literal["ratio"]
    """What kind of claim it is."""
    of: Reference
    """The numerator."""
    to: Reference
    """The denominator."""
    stated: Reference | PrintedText
    """The factor as printed, or the figure that holds it."""


class Sum(_Claim):
    """A total of several figures."""

    kind: Literal["sum"]
    """What kind of claim it is."""
    terms: tuple[Reference, ...] = Field(min_length=2, max_length=100)
    """What is added."""
    stated: Reference | PrintedText
    """The total as printed, or the figure that holds it."""


class ExplainedBy(_Claim):
    """A difference between two figures, put down to named causes: ``from × Π factors`` should give ``to``."""

    kind: Literal["explained_by"]
    """What kind of claim it is."""
    start: Reference = Field(alias="from")
    """The figure that is scaled."""
    factors: dict[Identifier, tuple[Reference | PrintedText, Reference | PrintedText]] = Field(min_length=1)
    """By cause: numerator and denominator of the factor."""
    stated: Reference | PrintedText
    """The figure that is explained."""


class FTest(_Claim):
    """An F value with its p value."""

    kind: Literal["f_test"]
    """What kind of claim it is."""
    f_value: PrintedText
    """F as printed."""
    p_value: PrintedText
    """p as printed."""
    groups: int = Field(ge=2, le=1000)
    """Groups that are compared: ``A vs B`` are two, so that df₁ = 1."""
    most_runs: int = Field(default=10_000, ge=3, le=1_000_000)
    """The largest number of observations that is thought possible."""


class CalibrationFactor(_Claim):
    """A factor by which a figure is normalised, so that products can be compared."""

    kind: Literal["calibration_factor"]
    """What kind of claim it is."""
    values: tuple[Reference, ...] = Field(min_length=2, max_length=100)
    """The measured figure of each product."""
    factors: tuple[Reference, ...] = Field(min_length=2, max_length=100)
    """The factor of each product, in the same order."""


class UnitPrice(_Claim):
    """A price per unit of computing, held against what the hardware costs."""

    kind: Literal["unit_price"]
    """What kind of claim it is."""
    figures: tuple[Reference, ...] = Field(min_length=1, max_length=100)
    """Prices as published, in USD per TFLOPS·hour."""
    usd_per_accelerator_hour: float = Field(gt=0.0, le=10_000.0)
    """What such an accelerator costs."""
    peak_tflops: float = Field(gt=0.0, le=1e6)
    """Its dense peak at the precision in question."""
    lowest_utilisation: float = Field(default=0.05, gt=0.0, le=1.0)
    """The smallest share of the peak that is thought possible."""
    source: str = Field(min_length=3, max_length=500)
    """Where price and peak were read."""


class FormulaUnit(_Claim):
    """A formula whose result is said to have a unit."""

    kind: Literal["formula_unit"]
    """What kind of claim it is."""
    formula: str = Field(min_length=1, max_length=500)
    """The expression, in Python's notation: ``+ - * /``, ``max``, ``min``, numbers and symbols."""
    symbols: dict[Identifier, Unit] = Field(min_length=1)
    """The unit of each symbol; ``1`` where it has none."""
    unit: Unit
    """What the result is said to be in."""
    right: str | None = Field(default=None, max_length=500)
    """A formula that would have that unit, for the reader."""


Claim = Annotated[
    PercentChange | Ratio | Sum | ExplainedBy | FTest | CalibrationFactor | UnitPrice | FormulaUnit,
    Field(discriminator="kind"),
]
