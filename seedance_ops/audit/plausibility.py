"""Whether published figures can be what they say: prices held against hardware, factors against values."""

from __future__ import annotations

from decimal import Decimal

from seedance_ops.audit.claims import CalibrationFactor, UnitPrice
from seedance_ops.audit.judgement import Judgement
from seedance_ops.audit.published import PublishedFigures

_PREFIXES = {1e3: "PFLOPS", 1e6: "EFLOPS", 1e-3: "GFLOPS"}
_LENIENT = 2.0
"""Whoever published may have paid half as much."""
_TELLS_APART = Decimal("0.01")
"""Products whose normalised figures differ by less are told apart by nothing but rounding."""


def calibration_factor(claim: CalibrationFactor, published: PublishedFigures) -> Judgement:
    """A factor made from the figure that it normalises makes every product equal, whatever was measured."""
    values = [published.printed(value) for value in claim.values]
    factors = [published.printed(factor) for factor in claim.factors]
    stated = ", ".join(factor.text for factor in factors)
    if any(factor.value == 0 for factor in factors) or any(value.value == 0 for value in values):
        return Judgement(stated, "not_checkable", None, "a value or a factor is zero")
    normalised = [value.value / factor.value for value, factor in zip(values, factors, strict=True)]
    shown = ", ".join(f"{value:.0f}" if value >= 100 else f"{value:.4g}" for value in normalised)
    measured = _spread([value.value for value in values])
    if _spread(normalised) < max(_TELLS_APART, measured / 20):
        return Judgement(
            stated,
            "disagrees",
            "a factor from a reference workload of its own, measured on the same machines",
            f"divided by its factor, every product gives the same ({shown}), although they were measured "
            f"{100 * measured:.0f} % apart: the factor cancels the difference it was to make comparable",
        )
    return Judgement(stated, "agrees", None, f"normalised figures stay apart: {shown}")


def unit_price(claim: UnitPrice, published: PublishedFigures) -> Judgement:
    """Between the price at full use of the peak, and that at the lowest utilisation thought possible."""
    low = claim.usd_per_accelerator_hour / claim.peak_tflops
    high = low / claim.lowest_utilisation
    figures = [published.printed(reference) for reference in claim.figures]
    stated = ", ".join(figure.text for figure in figures)
    right = f"{low:.3g} to {high:.3g} USD per TFLOPS·h"
    basis = (
        f"{claim.usd_per_accelerator_hour:g} USD/h ÷ {claim.peak_tflops:g} TFLOPS is {low:.3g} at the full "
        f"peak and {high:.3g} at {claim.lowest_utilisation:.0%} of it ({claim.source})"
    )
    if all(low <= float(figure.value) <= high for figure in figures):
        return Judgement(stated, "agrees", right, basis)
    times = [float(figure.value) / low for figure in figures]
    prefix = next(
        (
            name
            for factor, name in _PREFIXES.items()
            if all(low / _LENIENT <= float(figure.value) / factor <= high for figure in figures)
        ),
        None,
    )
    reads_as = f"; the figures would fit USD per {prefix}·h" if prefix else ""
    return Judgement(
        stated,
        "disagrees",
        right,
        f"{basis}: the published prices are {_magnitude(min(times), max(times))} what the hardware costs at "
        f"its full peak{reads_as}",
    )


def _spread(values: list[Decimal]) -> Decimal:
    return max(values) / min(values) - 1


def _magnitude(low: float, high: float) -> str:
    rounded = sorted({float(f"{value:.1g}") for value in (low, high)})
    return " to ".join(f"{value:g}" for value in rounded) + " times"
