"""The few-level row codec: sizes, bytes, errors, and levels that theory asks for."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from seedance_ops.training.compression.level_kernels import kernels_of
from seedance_ops.training.compression.level_rows import LevelRows
from seedance_ops.training.compression.level_tables import TABLES, LevelCount

COUNTS: list[LevelCount] = [3, 5, 7, 15, 255]
ROWS = st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=70)


@settings(deadline=None, max_examples=60)
@given(values=ROWS, levels=st.sampled_from(COUNTS), block=st.sampled_from([4, 256]))
def test_what_is_decoded_and_what_is_left_are_the_row(
    values: list[float], levels: LevelCount, block: int
) -> None:
    row, codec = torch.tensor([values]), LevelRows(levels, block)
    left = row.clone()
    payload = codec.encode(left)
    assert payload.shape == (1, codec.row_bytes(len(values)))
    decoded = codec.decode(payload, len(values))
    assert (decoded + left - row).abs().max() <= 1e-6 * max(1.0, float(row.abs().max()))


@pytest.mark.parametrize(("levels", "bits"), [(3, 8 / 5), (5, 24 / 10), (7, 3.0), (15, 4.0), (255, 8.0)])
def test_a_long_row_takes_the_bits_that_the_documentation_says(levels: LevelCount, bits: float) -> None:
    columns = 256 * 840
    assert LevelRows(levels).row_bytes(columns) == columns * bits / 8 + 2 * 840


def test_three_levels_by_hand() -> None:
    """Root mean square 1; level 1.41421356; digits 2, 1, 0, 1, 2 make 2 + 3 + 0 + 27 + 162 = 194."""
    payload = LevelRows(3).encode(torch.tensor([[1.5, 0.5, -1.5, 0.0, 0.5]]))
    assert payload[0, :2].view(torch.bfloat16).item() == 1.0
    assert payload[0, 2] == 2 + 3 + 0 + 27 + 1 * 81


@pytest.mark.parametrize("levels", [3, 5, 7, 15])
def test_every_level_is_the_mean_of_what_it_stands_for(levels: int) -> None:
    """Lloyd's condition, for the Laplace distribution of variance 1."""
    half = TABLES[levels].half
    borders = [half[0] / 2, *((a + b) / 2 for a, b in itertools.pairwise(half)), math.inf]

    def density(x: float) -> float:
        return math.sqrt(2) * math.exp(-math.sqrt(2) * x)

    for n, level in enumerate(half):
        low, high = borders[n], borders[n + 1]
        mass, moment = quad(density, low, high)[0], quad(lambda x: x * density(x), low, high)[0]
        assert level == pytest.approx(moment / mass, abs=1e-6)


@pytest.mark.parametrize(("levels", "error"), [(3, 0.2642), (5, 0.1198), (7, 0.0681)])
def test_the_mean_squared_error_is_that_of_the_published_tables(levels: LevelCount, error: float) -> None:
    """Adams and Giesler (1978, IEEE Trans. Commun. 26): optimum quantisers of the Laplace distribution."""
    torch.manual_seed(0)
    row = torch.distributions.Laplace(0.0, 1 / math.sqrt(2)).sample((1, 2_000_000))
    LevelRows(levels, block=100_000).encode(row)
    assert float(row.square().mean()) == pytest.approx(error, rel=0.01)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("levels", COUNTS)
def test_what_is_not_finite_stays_so(levels: LevelCount, poison: float) -> None:
    row = torch.ones(1, 600)
    row[0, 300] = poison
    codec = LevelRows(levels)
    decoded = codec.decode(codec.encode(row), 600)
    assert not torch.isfinite(decoded[0, 256:512]).any()
    assert torch.isfinite(decoded[0, :256]).all()


def test_a_row_of_zeros_is_one_of_zeros() -> None:
    codec = LevelRows(5)
    assert not codec.decode(codec.encode(torch.zeros(2, 33)), 33).any()


@pytest.mark.parametrize("levels", COUNTS)
def test_other_devices_read_and_write_the_same_bytes(levels: LevelCount) -> None:
    torch.manual_seed(1)
    rows, codec = torch.randn(3, 777), LevelRows(levels)
    compiled, plain = rows.clone(), rows.clone()
    payload = codec.encode(compiled)
    scales, digits = codec._parts(payload, 777)
    assert torch.equal(codec._decode_anywhere(scales, digits, 777), codec.decode(payload, 777))
    written = codec._encode_anywhere(plain, scales)
    # Halfway between two levels, rounding decides: at most one element in a thousand, and by one level.
    assert (written != digits).float().mean() <= 3e-3
    assert (codec._decode_anywhere(scales, written, 777) + plain - rows).abs().max() < 1e-6


def test_a_sum_is_that_of_the_rows() -> None:
    codec = LevelRows(15)
    payload = codec.encode(torch.randn(4, 300))
    assert torch.allclose(codec.sum_of(payload, 300), codec.decode(payload, 300).sum(dim=0), atol=1e-6)


@pytest.mark.parametrize("levels", COUNTS)
def test_loops_that_were_compiled_once_are_read_from_the_cache(levels: LevelCount) -> None:
    """Else every rank of every launch compiles them again, for a second or two, and leaves another copy."""
    for _ in range(2):
        kernels_of.cache_clear()
        kernels, packed = kernels_of(levels), np.zeros((1, 8), np.uint8)
        kernels.encode(np.ones((1, 8), np.float32), np.ones((1, 1), np.float32), 8, packed)
        kernels.add(packed, np.ones((1, 1), np.float32), 8, np.zeros(8, np.float32))
    for loop in (kernels.encode, kernels.add):
        assert sum(loop.stats.cache_hits.values()) == 1
        assert not loop.stats.cache_misses
