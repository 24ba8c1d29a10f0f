"""What a printed number may have been before it was rounded."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.audit.printed import Printed


def test_trailing_zeros_say_how_far_it_was_rounded() -> None:
    assert Printed.parse("1.50").interval == (Decimal("1.495"), Decimal("1.505"))
    assert Printed.parse("2140").interval == (Decimal("2139.5"), Decimal("2140.5"))
    assert Printed.parse("−43.6").value == Decimal("-43.6")


@pytest.mark.parametrize("text", ["", "about 4", "4,27", "1.", "NaN", "inf", "1 %", "٣"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="printed number"):
        Printed.parse(text)


@given(st.decimals(min_value=-1000, max_value=1000, places=6), st.integers(0, 4))
def test_every_number_agrees_with_its_own_rounding(value: Decimal, digits: int) -> None:
    assert Printed.parse(f"{round(value, digits):f}").rounds_from(value)
