"""Derived figures recomputed: changes, ratios, sums, explanations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from decimal import Decimal, DivisionByZero, InvalidOperation
from math import prod

from seedance_ops.audit.claims import ExplainedBy, PercentChange, Ratio, Sum
from seedance_ops.audit.judgement import Judgement
from seedance_ops.audit.printed import Printed
from seedance_ops.audit.published import PublishedFigures

_MOST_CORNERS = 12


def percent_change(claim: PercentChange, published: PublishedFigures) -> Judgement:
    """``100 × (to − from) ÷ from``."""
    inputs = [published.printed(claim.start), published.printed(claim.to)]
    return _judged(
        Printed.parse(claim.stated),
        inputs,
        lambda start, end: 100 * (end - start) / start,
        f"100 × ({inputs[1].text} − {inputs[0].text}) ÷ {inputs[0].text}",
        " %",
    )


def ratio(claim: Ratio, published: PublishedFigures) -> Judgement:
    """``of ÷ to``."""
    inputs = [published.printed(claim.of), published.printed(claim.to)]
    return _judged(
        published.printed(claim.stated),
        inputs,
        lambda of, to: of / to,
        f"{inputs[0].text} ÷ {inputs[1].text}",
    )


def total(claim: Sum, published: PublishedFigures) -> Judgement:
    """The sum of the terms."""
    inputs = [published.printed(term) for term in claim.terms]
    return _judged(
        published.printed(claim.stated),
        inputs,
        lambda *terms: sum(terms, Decimal(0)),
        " + ".join(term.text for term in inputs),
    )


def explained_by(claim: ExplainedBy, published: PublishedFigures) -> Judgement:
    """``from`` × the product of the factors."""
    start = published.printed(claim.start)
    pairs = [(published.printed(over), published.printed(under)) for over, under in claim.factors.values()]
    inputs = [start, *itertools.chain.from_iterable(pairs)]

    def scaled(value: Decimal, *parts: Decimal) -> Decimal:
        return value * prod(parts[0::2], start=Decimal(1)) / prod(parts[1::2], start=Decimal(1))

    shown = " × ".join(
        [
            start.text,
            *(
                f"{over.text} ÷ {under.text} ({name})"
                for name, (over, under) in zip(claim.factors, pairs, strict=True)
            ),
        ]
    )
    return _judged(published.printed(claim.stated), inputs, scaled, shown)


def _judged(
    stated: Printed,
    inputs: Sequence[Printed],
    formula: Callable[..., Decimal],
    shown: str,
    unit: str = "",
) -> Judgement:
    """A reader's recomputation takes the figures as printed; what rounding may have hidden is said beside."""
    try:
        exact = formula(*(value.value for value in inputs))
    except (DivisionByZero, InvalidOperation):
        return Judgement(stated.text + unit, "not_checkable", None, f"{shown}: a division by zero")
    right = stated.as_precise(exact) + unit
    if stated.rounds_from(exact):
        return Judgement(stated.text + unit, "agrees", right, f"{shown} = {right}")
    low, high = _extent(inputs, formula)
    reachable = low is not None and high is not None and _overlaps(stated.interval, (low, high))
    note = ""
    if reachable:
        note = "; figures before rounding could have given it, the printed ones do not"
    return Judgement(
        stated.text + unit,
        "disagrees",
        right,
        f"{shown} = {exact:.6g}, which is {right}, not {stated.text}{unit}{note}",
        within_input_rounding=reachable,
    )


def _extent(
    inputs: Sequence[Printed], formula: Callable[..., Decimal]
) -> tuple[Decimal | None, Decimal | None]:
    """The formula's range over the inputs' rounding: at its corners, since it is monotone in each input."""
    if len(inputs) > _MOST_CORNERS:
        return None, None
    try:
        found = [formula(*corner) for corner in itertools.product(*(value.interval for value in inputs))]
    except (DivisionByZero, InvalidOperation):
        return None, None
    return min(found), max(found)


def _overlaps(one: tuple[Decimal, Decimal], other: tuple[Decimal, Decimal]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
