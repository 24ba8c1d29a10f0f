"""Numbers read the same everywhere."""

from __future__ import annotations

import pytest

from seedance_ops.quality.wording import number, percent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.05, "−0.05"),
        (0.0019876, "0.001988"),
        (2.9, "2.9"),
        (1234.5, "1234"),
        (12_345, "12.35 k"),
        (3.2e9, "3.2 G"),
        (1e-7, "1.00e−07"),
    ],
)
def test_numbers_have_four_digits(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(-0.45, "−45 %"), (0.0, "0 %"), (-0.00001, "0 %"), (0.0123, "+1.23 %"), (12.5, "+1250 %")],
)
def test_shares_are_percent_with_a_sign(share, text):
    assert percent(share) == text
