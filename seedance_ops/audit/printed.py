"""A number as it was printed: its value, and the interval that rounding left."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Annotated

from pydantic import Field

PATTERN = r"^[+−-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$"
PrintedText = Annotated[str, Field(pattern=PATTERN, max_length=40)]
"""In quotes, because YAML drops the zeros that say how far a number was rounded: ``"4.30"``."""


@dataclass(frozen=True)
class Printed:
    """A printed number."""

    text: str
    value: Decimal
    step: Decimal
    """One unit of the last printed digit."""

    @classmethod
    def parse(cls, text: str) -> Printed:
        """Read a number; raises ``ValueError`` for what is none."""
        if not re.match(PATTERN, text):
            raise ValueError(f"{text!r} is not a printed number such as '-43.6'")
        value = Decimal(text.replace("−", "-"))
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        return cls(text, value, Decimal(1).scaleb(exponent))

    @property
    def interval(self) -> tuple[Decimal, Decimal]:
        """What may have been rounded to this."""
        return self.value - self.step / 2, self.value + self.step / 2

    def rounds_from(self, exact: Decimal) -> bool:
        """Whether ``exact`` prints as this, whichever way a tie is rounded."""
        return any(
            exact.quantize(self.step, rounding) == self.value for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN)
        )

    def as_precise(self, exact: Decimal) -> str:
        """``exact`` printed with as many decimals as this."""
        return f"{exact.quantize(self.step, ROUND_HALF_UP):f}"
