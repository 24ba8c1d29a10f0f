"""The row codec that fits its step to a budget: what is left, what never is lost, what theory asks for."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from seedance_ops.training.compression.fitted_kernels import ROUND_UP_FROM, add_row, encode_row, unary_table
from seedance_ops.training.compression.fitted_rows import FittedRows, _add_anywhere

BITS = st.sampled_from([2.0, 2.35, 3.0, 4.0])
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False)
ROWS = st.one_of(
    st.lists(FLOATS, min_size=1, max_size=70),
    st.tuples(FLOATS, st.integers(1, 300)).map(lambda pair: [pair[0]] * pair[1]),  # all alike
    st.lists(st.sampled_from([1.0, -1.0, 1.01, 1e-20, 0.0, 3e38]), min_size=1, max_size=300),
)


@settings(max_examples=150)
@example(values=[0.0] * 131_008 + [1.2499998807907104] * 64, bits=3.0)  # at the edge of a bin
@example(values=[3.1450529e38, 2.8983091e38], bits=2.35)  # two steps would be infinite
@given(values=ROWS, bits=BITS)
def test_what_is_decoded_and_what_is_left_are_the_row(values: list[float], bits: float) -> None:
    row, codec = torch.tensor([values]), FittedRows(bits)
    left = row.clone()
    payload = codec.encode(left)
    assert payload.shape == (1, codec.row_bytes(len(values)))
    decoded = codec.decode(payload, len(values))
    assert torch.isfinite(decoded).all()
    assert torch.equal(left, row - decoded)
    assert torch.equal(codec.sum_of(payload, len(values)), decoded[0])


@settings(max_examples=100)
@given(values=ROWS, bits=BITS)
def test_of_every_row_something_is_sent(values: list[float], bits: float) -> None:
    """So error feedback cannot grow without bound: the largest element is left with 0.6 of itself at most."""
    row = torch.tensor([values])
    largest = float(row.abs().max())
    FittedRows(bits).encode(row)
    if largest > 1e-36:
        assert float(row.abs().max()) <= 0.625 * largest  # of a step that is up to a bin too coarse


@pytest.mark.parametrize(("bits", "levels_error"), [(2.4, 0.1198), (3.0, 0.0681)])
def test_it_leaves_half_of_what_the_best_levels_leave_at_the_same_bits(
    bits: float, levels_error: float
) -> None:
    """Of the Laplace distribution; the others by Adams and Giesler (1978), 5 levels in 2.4 bits, 7 in 3."""
    torch.manual_seed(0)
    row = torch.distributions.Laplace(0.0, 1 / math.sqrt(2)).sample((1, 1_000_000))
    FittedRows(bits).encode(row)
    left = float(row.square().mean())
    assert left < 0.5 * levels_error
    assert (
        error_of_laplace(bits) < left < 1.05 * error_of_laplace(bits)
    )  # elements count as their bin's largest


def error_of_laplace(bits: float) -> float:
    """Mean squared error of the step that takes so many bits, by sums of the exponential distribution."""

    def beyond(x: float) -> float:
        return math.exp(-math.sqrt(2) * x)

    offset = float(ROUND_UP_FROM)

    def cost(step: float) -> float:
        """One bit; one more for each step of magnitude; a sign."""
        return 1 + sum(beyond((k + offset) * step) for k in range(200)) + beyond(offset * step)

    step = brentq(lambda one: cost(one) - bits, 0.05, 3.0)
    grid = np.linspace(0, 12, 1_200_001)
    left = grid - step * np.floor(grid / step + 1 - offset)
    return float(np.trapezoid(math.sqrt(2) * np.exp(-math.sqrt(2) * grid) * left**2, grid))


def test_a_row_by_hand() -> None:
    """Step 1: 2, −1, 0, 1.4 are 110, 10, 0, 10 with the signs + − +; 1.4 leaves 0.4, and 0.6 would be one."""
    row, out = torch.tensor([2.0, -1.0, 0.5, 1.4]), torch.zeros(12, dtype=torch.uint8)
    encode_row(row.numpy(), np.float32(1.0), np.zeros(4, dtype=np.int32), out.numpy())
    assert out[:4].view(torch.float32).item() == 1.0
    assert out[4:8].view(torch.int32).item() == 3
    assert out[8].item() == 0b010
    assert out[9].item() == 0b01001011  # 1 1 0 1 0 0 1 0, lowest first
    assert torch.allclose(row, torch.tensor([0.0, 0.0, 0.5, 0.4]))


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_makes_its_row_so(poison: float) -> None:
    rows = torch.ones(2, 600)
    rows[1, 300] = poison
    codec = FittedRows(2.4)
    decoded = codec.decode(codec.encode(rows), 600)
    assert torch.isfinite(decoded[0]).all()
    assert decoded[1].isnan().all()


def test_zeros_stay_zeros() -> None:
    codec = FittedRows(2.4)
    assert not codec.decode(codec.encode(torch.zeros(2, 33)), 33).any()


def test_stray_bytes_write_nothing_behind_the_row() -> None:
    generator = torch.Generator().manual_seed(0)
    codec = FittedRows(2.4)
    for _ in range(200):
        payload = torch.randint(0, 256, (1, codec.row_bytes(65)), dtype=torch.uint8, generator=generator)
        with_guard = torch.zeros(65 + 64)
        add_row(payload[0].numpy(), unary_table(), with_guard[:65].numpy())
        assert not with_guard[65:].any()


@pytest.mark.parametrize("power", [1, 0], ids=["spread", "all alike"])
def test_other_devices_read_and_write_the_same_bytes(power: int) -> None:
    torch.manual_seed(1)
    rows, codec = torch.randn(3, 777).sign() * torch.randn(3, 777).abs() ** power, FittedRows(2.35)
    compiled, plain = rows.clone(), rows.clone()
    payload = codec.encode(compiled)
    written = codec._encode_anywhere(plain)
    assert torch.equal(written, payload)
    assert torch.equal(plain, compiled)
    for row, decoded in zip(payload, codec.decode(payload, 777), strict=True):
        out = torch.zeros(777)
        _add_anywhere(row, out)
        assert torch.equal(out, decoded)
