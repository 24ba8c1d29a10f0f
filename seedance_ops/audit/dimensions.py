"""The unit of a formula, from the units of its symbols."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from seedance_ops.audit.claims import FormulaUnit
from seedance_ops.audit.judgement import Judgement

_UNITS = (
    "USD = [currency]",
    "bit = [information]",  # pint's own is a bare number, which hides a sum of gigabytes and shares
    "request = [request] = req",
    "FLOP = [computation]",
    "FLOPS = FLOP / second",
    "percent = 0.01",
)
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class FormulaError(ValueError):
    """The formula, or a unit in it, cannot be read; the message says what of it."""


def formula_unit(claim: FormulaUnit) -> Judgement:
    """Every symbol stands for one of its unit; the result's unit is held against the one that is claimed."""
    import pint

    stated = f"{claim.formula} in {claim.unit}"
    try:
        wanted = _unit(claim.unit)
        found = _evaluate(claim.formula, {name: _unit(unit) for name, unit in claim.symbols.items()})
    except FormulaError as error:
        return Judgement(stated, "not_checkable", None, str(error))
    except pint.DimensionalityError as error:
        return Judgement(
            stated, "disagrees", claim.right, f"it adds or compares what has different units: {error}"
        )
    if found.dimensionality == wanted.dimensionality:
        factor = float((found / wanted).to_base_units().magnitude)
        if abs(factor - 1.0) < 1e-9:
            return Judgement(stated, "agrees", None, f"the result is in {claim.unit}")
        return Judgement(
            stated,
            "disagrees",
            claim.right,
            f"the result is {1 / factor:g} times too large for {claim.unit}"
            if factor < 1
            else f"the result is in units of {factor:g} {claim.unit}",
        )
    unit = f"{found.to_reduced_units().units:~P}".replace("req", "request") or "a bare number"
    return Judgement(stated, "disagrees", claim.right, f"the result is in {unit}, not in {claim.unit}")


@cache
def _registry() -> Any:
    import pint

    registry: Any = pint.UnitRegistry(cache_folder=None)
    for definition in _UNITS:
        registry.define(definition)
    return registry


def _unit(text: str) -> Any:
    import pint

    if text == "1":
        return _registry().Quantity(1.0)
    try:
        return _registry().Quantity(1.0, _registry().parse_units(text))
    except (pint.UndefinedUnitError, pint.DefinitionSyntaxError, ValueError, TypeError, SyntaxError) as error:
        raise FormulaError(f"{text!r} is not a unit: {error}") from None


def _evaluate(formula: str, symbols: dict[str, Any]) -> Any:
    """The formula over quantities; nothing but arithmetic is read, nothing is executed."""
    try:
        tree = ast.parse(formula, mode="eval")
    except SyntaxError as error:
        raise FormulaError(f"the formula cannot be read: {error.msg}") from None
    return _value(tree.body, symbols)


def _value(node: ast.expr, symbols: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return _registry().Quantity(float(number))
        case ast.Name(id=name):
            if name not in symbols:
                raise FormulaError(f"the symbol {name} has no unit; known: {', '.join(symbols)}")
            return symbols[name]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left, symbols), _value(right, symbols))
        case ast.Call(func=ast.Name(id="max" | "min"), args=[first, *rest], keywords=[]):
            values = [_value(first, symbols), *(_value(other, symbols) for other in rest)]
            return max(values)  # of one unit, else this raises; which of them does not matter
        case _:
            raise FormulaError(
                f"the formula may hold + - * / max min, numbers and symbols, not {ast.unparse(node)}"
            )
