"""The codecs of mixed precision: bytes by hand, nothing lost, nothing finite made infinite."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from pydantic import ValidationError

from seedance_ops.training.compression.config import MixedPrecisionConfig
from seedance_ops.training.compression.mixed_rows import MixedRows, TrunkRows
from seedance_ops.training.compression.scaled_fp16 import from_scaled_fp16, to_scaled_fp16
from seedance_ops.training.compression.sparse_layout import sparse_layout
from seedance_ops.training.compression.sparse_rows import SparseRows, decode_anywhere, encode_anywhere

CODECS = pytest.mark.parametrize("codec", [MixedRows(0.05, 0.1), TrunkRows()], ids=["sparse", "all"])
FINITE = npst.arrays(
    np.float32,
    npst.array_shapes(min_dims=2, max_dims=2, max_side=200),
    elements=st.floats(allow_nan=False, allow_infinity=False, width=32),
)
MANY = settings(deadline=None, max_examples=60)


def split(codec, rows):
    """What is sent of the rows, and what stays behind."""
    left = torch.tensor(rows)
    payload = codec.encode(left)
    assert payload.shape == (len(rows), codec.row_bytes(rows.shape[1]))
    return codec.decode(payload, rows.shape[1]), left


def test_the_trunk_has_the_bytes_worked_out_by_hand():
    """6 is 1.5 · 2², so the scale is 2⁻¹² (0x3980); 6 · 2¹² = 24,576 (0x7600), -1 · 2¹² (0xEC00)."""
    payload = TrunkRows().encode(torch.tensor([[6.0, -1.0, 0.0]]))
    assert payload.numpy().tobytes() == bytes.fromhex("80 39 00 76 00 EC 00 00")


def test_the_two_layers_follow_each_other():
    """The larger in float16: scale 2⁻¹³ (0x3900), -2.5 · 2¹³ (0xF500) and bit 5 of a map of 8. Then, in four
    bits, 1 with the scale 1/7 (0x3E12) and bit 1; the trunk has left nothing of its own."""
    left = torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.0, -2.5, 0.25, 0.0]])
    payload = MixedRows(0.25, 0.5).encode(left)
    assert payload.numpy().tobytes() == bytes.fromhex("00 39 00 F5 20 12 3E 07 02")
    assert left[0, 5] == 0.0
    assert abs(left[0, 1]) <= 1 / 14


@CODECS
@MANY
@given(rows=FINITE)
def test_what_is_finite_stays_finite_and_nothing_is_lost(codec, rows):
    """Up to 3.4e38, where plain float16 ends at 65,504."""
    sent, left = split(codec, rows)
    assert torch.isfinite(sent).all()
    assert torch.isfinite(left).all()
    lost = (sent.double() + left.double() - torch.tensor(rows).double()).abs().amax(dim=1)
    assert (lost <= 1e-6 * torch.tensor(rows).double().abs().amax(dim=1)).all()


@CODECS
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("at", [0, 4095])
def test_what_is_not_finite_reaches_the_optimiser_and_no_other_row(codec, bad, at):
    rows = np.random.default_rng(0).standard_normal((2, 4096)).astype(np.float32)
    rows[0, at] = bad
    sent, _ = split(codec, rows)
    assert not torch.isfinite(sent[0]).all()
    assert torch.isfinite(sent[1]).all()


@MANY
@given(rows=FINITE)
def test_float16_in_units_is_what_numpy_rounds_to(rows):
    scales = 2.0 ** np.maximum(
        np.floor(np.log2(np.abs(rows).max(axis=1).astype(np.float64) + 1e-300)) - 14, -126
    )
    units = np.clip(rows / scales[:, None], -(2.0**15 - 16), 2.0**15 - 16).astype(np.float16)
    expected = (units.astype(np.float32) * scales[:, None].astype(np.float32)).astype(np.float32)
    assert np.array_equal(from_scaled_fp16(to_scaled_fp16(torch.tensor(rows))).numpy(), expected)


@MANY
@given(rows=FINITE)
def test_the_compiled_loops_and_torchs_own_operations_send_the_same_values(rows):
    layout = sparse_layout(rows.shape[1], 1.0, "fp16")
    compiled, anywhere = torch.tensor(rows), torch.tensor(rows)
    payload = SparseRows(1.0, "fp16").encode(compiled)
    other = encode_anywhere(anywhere, layout)
    assert torch.equal(compiled, anywhere)
    _, values = decode_anywhere(other, layout)
    assert torch.equal(SparseRows(1.0, "fp16").decode(payload, rows.shape[1]), values)


def test_a_few_large_elements_no_longer_decide_how_coarse_the_others_are():
    """With a trunk the same bits leave less behind, where tails are heavy."""
    rows = np.random.default_rng(1).standard_t(2, (4, 20_000)).astype(np.float32)
    _, mixed = split(MixedRows(0.05, 0.1), rows)
    _, int4 = split(SparseRows(0.05, "int4"), rows)
    assert mixed.norm() < int4.norm()


def test_a_sum_is_the_sum_of_the_decoded():
    rows = np.random.default_rng(2).standard_normal((3, 4096)).astype(np.float32)
    for codec in (MixedRows(0.05, 0.1), TrunkRows()):
        payload = codec.encode(torch.tensor(rows))
        expected = codec.decode(payload, 4096).sum(dim=0)
        assert torch.allclose(codec.sum_of(payload, 4096), expected, atol=1e-6)


@pytest.mark.parametrize(
    "key", [{"k_ratio": 0.0009}, {"k_ratio": 0.051}, {"trunk_ratio": 0.0}, {"trunk_ratio": 1.0}]
)
def test_shares_outside_their_bounds_are_refused(key):
    with pytest.raises(ValidationError):
        MixedPrecisionConfig(algorithm="mixed_precision", **key)
