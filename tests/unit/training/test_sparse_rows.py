"""The sparse row codec: what it selects, its bytes, and what it leaves behind."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from seedance_ops.training.compression.sparse_kernels import select_largest
from seedance_ops.training.compression.sparse_layout import sparse_layout
from seedance_ops.training.compression.sparse_rows import SparseRows, decode_anywhere, encode_anywhere

VALUES = ("bf16", "int4")
RATIOS = st.sampled_from([0.001, 0.01, 0.07, 0.25, 1.0])
MANY = settings(deadline=None, max_examples=60)


def rows_of(elements):
    """A few rows, of which many elements repeat."""
    return npst.arrays(np.float32, npst.array_shapes(min_dims=2, max_dims=2, max_side=300), elements=elements)


FINITE = rows_of(st.floats(-(2.0**60), 2.0**60, width=32))
ANY = rows_of(st.floats(width=32, allow_nan=True, allow_infinity=True))
LONG = np.random.default_rng(3).standard_normal(50_000).astype(np.float32)


def encoded(rows, k_ratio, values="bf16"):
    """The payload, and what stays behind of the rows."""
    left = torch.tensor(np.atleast_2d(rows))
    return SparseRows(k_ratio, values).encode(left), left


def selected(row, entries):
    out = np.empty(len(row), dtype=np.int32)
    found = select_largest(row.view(np.int32), entries, out)
    return out[:entries], found


def exactly_largest(row, entries):
    """By a stable sort over magnitudes, NaN first; without zeros."""
    magnitudes = np.where(np.isnan(row), np.inf, np.abs(row)).astype(np.float64)
    order = np.lexsort((np.arange(len(row)), -magnitudes, ~np.isnan(row)))[:entries]
    return np.sort(order[row[order] != 0.0])


@pytest.mark.parametrize(
    ("values", "expected", "left"),
    [
        # 1.0 and -2.5; then bits 1 + 0 and 5 + 1 of the map.
        ("bf16", "80 3F 20 C0 42 00", [0.0, 0.0]),
        # 2.5 / 7 in bfloat16 is 0.357421875; levels 3 and -7.
        ("int4", "B7 3E 93 42 00", [-0.072265625, 0.001953125]),
    ],
)
def test_a_short_row_has_the_bytes_worked_out_by_hand(values, expected, left):
    payload, rest = encoded(np.array([0, 1, 0, 0, 0, -2.5, 0.25, 0], np.float32), 0.25, values)
    assert payload.numpy().tobytes() == bytes.fromhex(expected)
    assert rest[0].tolist() == [0.0, left[0], 0.0, 0.0, 0.0, left[1], 0.25, 0.0]


def test_low_bits_of_the_indices_stand_side_by_side():
    row = np.zeros(32, np.float32)
    row[[9, 30]] = 1.0, -2.0
    # Three low bits, 001 and 110; then bits (9 >> 3) + 0 and (30 >> 3) + 1 of the map.
    assert encoded(row, 0.0625)[0].numpy().tobytes() == bytes.fromhex("80 3F 00 C0 31 12")


def test_a_rows_size_is_the_formula_worked_out_by_hand():
    # 10,000 indices with 6 low bits: 7,500 B; map of 10,000 + (999,999 >> 6) bits: 3,203 B.
    assert SparseRows(0.01, "bf16").row_bytes(1_000_000) == 20_000 + 7_500 + 3_203
    assert SparseRows(0.01, "int4").row_bytes(1_000_000) == 2 * 79 + 5_000 + 7_500 + 3_203


@pytest.mark.parametrize(("k_ratio", "bits"), [(0.001, 12.0), (0.01, 8.6), (0.05, 6.3)])
def test_an_index_costs_little_more_than_its_entropy(k_ratio, bits):
    layout = sparse_layout(6_500_000, k_ratio, "bf16")
    entropy = -np.log2(k_ratio) - (1 - k_ratio) / k_ratio * np.log2(1 - k_ratio)
    assert entropy < 8 * (layout.row_bytes - layout.low_at) / layout.entries < min(bits, entropy + 0.6)


@MANY
@given(rows=ANY, k_ratio=RATIOS, values=st.sampled_from(VALUES))
def test_every_row_has_the_declared_size(rows, k_ratio, values):
    payload, _ = encoded(rows, k_ratio, values)
    assert payload.shape == (len(rows), SparseRows(k_ratio, values).row_bytes(rows.shape[1]))
    assert payload.dtype == torch.uint8


@MANY
@given(rows=FINITE, k_ratio=RATIOS, values=st.sampled_from(VALUES))
def test_what_is_sent_and_what_is_left_add_up_to_the_rows(rows, k_ratio, values):
    payload, left = encoded(rows, k_ratio, values)
    decoded = SparseRows(k_ratio, values).decode(payload, rows.shape[1])
    if values == "bf16":
        torch.testing.assert_close(decoded + left, torch.tensor(rows), rtol=1e-6, atol=0.0)
    else:
        # A level may be far off its value, so that rounding is relative to the row's largest.
        torch.testing.assert_close(
            decoded + left, torch.tensor(rows), rtol=1e-6, atol=1e-6 * float(np.abs(rows).max())
        )


@MANY
@given(rows=ANY, k_ratio=RATIOS)
def test_exactly_the_largest_elements_are_selected_in_order(rows, k_ratio):
    entries = sparse_layout(rows.shape[1], k_ratio, "bf16").entries
    for row in rows:
        indices, found = selected(row, entries)
        np.testing.assert_array_equal(indices[:found], exactly_largest(row, entries))
        assert (indices[found:] == (indices[found - 1] if found else 0)).all()


def few_nonzero():
    row = np.zeros(50_000, np.float32)
    row[::5000] = np.arange(1.0, 11.0)
    return row


@pytest.mark.parametrize("entries", [1, 50, 500, 2_500, 49_999, 50_000])
@pytest.mark.parametrize(
    "row",
    [
        LONG,
        LONG.round(1),
        np.full(50_000, -0.5, np.float32),
        np.zeros(50_000, np.float32),
        (np.abs(LONG) > 1.5).astype(np.float32),
        few_nonzero(),
        LONG * np.tile(np.r_[np.float32(100.0), np.full(499, 1e-3, np.float32)], 100),
        np.sort(LONG),
        LONG**9,
        LONG * np.float32(1e-41),
    ],
    ids=[
        "gaussian", "many ties", "constant", "zero", "two values", "few nonzero",
        "one column", "sorted", "heavy tails", "subnormal",
    ],
)  # fmt: skip
def test_the_largest_of_a_long_row_are_found_by_its_sample(row, entries):
    indices, found = selected(row, entries)
    np.testing.assert_array_equal(indices[:found], exactly_largest(row, entries))


@MANY
@given(rows=ANY)
def test_values_are_rounded_to_bfloat16_as_torch_does(rows):
    decoded = SparseRows(1.0).decode(encoded(rows, 1.0)[0], rows.shape[1])
    torch.testing.assert_close(
        decoded, torch.tensor(rows).bfloat16().float(), rtol=0.0, atol=0.0, equal_nan=True
    )


def test_int4_values_are_off_by_half_a_level_at_most():
    row = LONG[:1000]
    decoded = SparseRows(1.0, "int4").decode(encoded(row, 1.0, "int4")[0], 1000)[0].numpy()
    for first in range(0, 1000, 128):
        block = slice(first, first + 128)
        level = np.abs(row[block]).max() / 7
        # The scale is off by 1/256 at most, thus the largest by 7/256 of a level.
        assert np.abs(decoded[block] - row[block]).max() <= 0.53 * level


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("columns", [40, 50_000])
def test_a_value_that_is_not_finite_is_decoded_as_such(values, bad, columns):
    rows = np.tile(LONG[:columns], (2, 1))
    rows[1, 17] = bad
    decoded = SparseRows(0.001, values).decode(encoded(rows, 0.001, values)[0], columns)
    assert torch.isfinite(decoded[0]).all()
    assert not torch.isfinite(decoded[1, 17])


@MANY
@given(rows=FINITE, k_ratio=RATIOS, values=st.sampled_from(VALUES))
def test_compiled_loops_and_torch_operations_read_each_others_bytes(rows, k_ratio, values):
    columns = rows.shape[1]
    layout = sparse_layout(columns, k_ratio, values)
    codec = SparseRows(k_ratio, values)
    left = torch.tensor(rows)
    payload = encode_anywhere(left, layout)
    for bytes_ in (payload, encoded(rows, k_ratio, values)[0]):
        indices, sent = decode_anywhere(bytes_, layout)
        assert (indices.diff(dim=1) >= 0).all()
        by_torch = torch.zeros(rows.shape).scatter_add_(1, indices, sent)
        assert torch.equal(codec.decode(bytes_, columns), by_torch)
    scale = float(np.abs(rows).max())
    torch.testing.assert_close(
        codec.decode(payload, columns) + left, torch.tensor(rows), rtol=1e-6, atol=1e-6 * scale
    )


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("k_ratio", [0.001, 0.01, 0.05])
def test_both_ways_give_the_same_bytes_where_no_magnitudes_are_equal(values, k_ratio):
    rows = torch.tensor(LONG).view(2, 25_000)
    by_torch, by_loops = rows.clone(), rows.clone()
    payload = encode_anywhere(by_torch, sparse_layout(25_000, k_ratio, values))
    assert torch.equal(payload, SparseRows(k_ratio, values).encode(by_loops))
    assert torch.equal(by_torch, by_loops)


@pytest.mark.parametrize("values", VALUES)
def test_a_sum_is_that_of_the_decoded_rows(values):
    codec = SparseRows(0.1, values)
    payload = codec.encode(torch.tensor(LONG).view(4, -1))
    total = torch.zeros(12_500)
    for row in codec.decode(payload, 12_500):
        total += row
    assert torch.equal(codec.sum_of(payload, 12_500), total)


def test_a_payload_is_read_from_the_middle_of_a_message():
    codec = SparseRows(0.01)
    payload = codec.encode(torch.tensor(LONG).view(1, -1))
    message = torch.cat([torch.zeros(1, 3, dtype=torch.uint8), payload, payload], dim=1)
    part = message[:, 3 : 3 + payload.shape[1]]
    assert torch.equal(codec.decode(part, 50_000), codec.decode(payload, 50_000))
    indices, sent = decode_anywhere(part, sparse_layout(50_000, 0.01, "bf16"))
    assert torch.equal(torch.zeros(1, 50_000).scatter_add_(1, indices, sent), codec.decode(payload, 50_000))


@pytest.mark.parametrize("byte", [0x00, 0xFF])
def test_bytes_of_something_else_are_refused(byte):
    codec = SparseRows(0.01)
    payload = torch.full((1, codec.row_bytes(1000)), byte, dtype=torch.uint8)
    with pytest.raises(ValueError, match="not that of a sparse row"):
        codec.decode(payload, 1000)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("distribution", ["gaussian", "laplace", "heavy_tails"])
def test_one_percent_holds_the_energy_of_the_exact_selection(distribution, values):
    generator = np.random.default_rng(11)
    row = {
        "gaussian": generator.standard_normal,
        "laplace": lambda size: generator.laplace(size=size),
        "heavy_tails": lambda size: generator.standard_t(3, size),
    }[distribution](200_000).astype(np.float32)
    payload, _ = encoded(row, 0.01, values)
    indices = decode_anywhere(payload, sparse_layout(len(row), 0.01, values))[0][0].numpy()
    exact = np.sort(row.astype(np.float64) ** 2)[-2000:].sum()
    assert (row[indices].astype(np.float64) ** 2).sum() >= 0.98 * exact
