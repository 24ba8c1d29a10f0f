"""The Triton kernels of the sparse row codec, in Triton's interpreter: they give what the CPU's give."""

import os
import pickle
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.training.compression import sparse_rows
from seedance_ops.training.compression.sparse_layout import sparse_layout
from seedance_ops.training.compression.sparse_rows import SparseRows

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="triton is for Linux on x86-64")
FEW = settings(deadline=None, max_examples=12)
RATIOS = st.sampled_from([0.001, 0.01, 0.07, 0.25, 0.5, 1.0])

# Triton decides when it is imported whether it interprets, and another test of this process may have had it.
INTERPRETER = """
import pickle, sys
import torch
from seedance_ops.training.compression import sparse_rows, sparse_triton

sparse_rows.triton_builds_for = lambda device: True
while True:
    method, codec, array, columns = pickle.load(sys.stdin.buffer)
    given = torch.from_numpy(array.copy())
    if method == "encode":
        answer = codec.encode(given).numpy(), given.numpy()
    elif method == "add_between":
        out = torch.zeros(3, columns)
        layout = codec._layout(columns)
        sparse_triton.add_values(given, torch.ones(1, layout.entries), layout, out[1:2])
        answer = out.numpy()
    else:
        answer = getattr(codec, method)(given, columns).numpy()
    pickle.dump(answer, sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""

# Every launch compiles the kernel for the types of its arguments instead.
COMPILER = """
import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from triton.runtime.jit import JITFunction, mangle_type
from seedance_ops.training.compression import sparse_triton
from seedance_ops.training.compression.sparse_layout import sparse_layout

def compiled(kernel, *arguments, grid, warmup):
    signature, constants = {}, {}
    for parameter, value in zip(kernel.params, arguments, strict=True):
        one = isinstance(value, int) and value == 1 and not parameter.do_not_specialize
        fixed = parameter.is_constexpr or one
        signature[parameter.name] = "constexpr" if fixed else mangle_type(value)
        if fixed:
            constants[parameter.name] = value
    built = compile(ASTSource(kernel, signature, constants), target=GPUTarget("cuda", 80, 32))
    assert ".ftz" not in built.asm["ptx"]
    print(kernel.__name__, len(built.asm["cubin"]))

JITFunction.run = compiled
for k_ratio, columns, rounded in ((0.01, 3000, True), (1.0, 1, False)):
    layout = sparse_layout(columns, k_ratio, "bf16")
    sparse_triton.select_and_pack(torch.ones(2, columns), layout, round_to_bf16=rounded)
    payload = torch.zeros(2, layout.row_bytes, dtype=torch.uint8)
    sparse_triton.add_values(payload, torch.zeros(2, layout.entries), layout, torch.zeros(2, columns))
"""


class Interpreter:
    """A process in which ``SparseRows`` takes Triton's kernels, interpreted."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", INTERPRETER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TRITON_INTERPRET": "1"},
        )  # fmt: skip

    def ask(self, method, codec, array, columns=0):
        pickle.dump((method, codec, array, columns), self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def close(self):
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def interpreter():
    started = Interpreter()
    yield started
    started.close()


def gaussian(random, columns):
    return random.standard_normal(columns)


def few_values(random, columns):
    return random.integers(-2, 3, columns)


def few_nonzero(random, columns):
    return random.standard_normal(columns) * (random.random(columns) < 0.03)


def subnormal(random, columns):
    return random.standard_normal(columns) * 1e-42


def not_finite(random, columns):
    row = random.standard_normal(columns)
    row[random.integers(0, columns, 3)] = np.nan, np.inf, -np.inf
    return row


def heavy_tails(random, columns):
    return random.standard_normal(columns) ** 9 * 1e30


def negative_zero(_random, columns):
    return np.full(columns, -0.0)


FINITE = (gaussian, few_values, few_nonzero, subnormal, heavy_tails, negative_zero)


def rows_of(*kinds):
    return st.builds(
        lambda kinds, seed, columns: np.stack(
            [kind(np.random.default_rng(seed + i), columns) for i, kind in enumerate(kinds)]
        ).astype(np.float32),
        st.lists(st.sampled_from(kinds), min_size=1, max_size=3),
        st.integers(0, 2**31),
        st.one_of(st.integers(1, 70), st.integers(900, 3000)),
    )


def assert_same_bits(answer, expected):
    """Which NaN it is differs between processors."""
    patterns = [
        np.where(np.isnan(floats), np.float32(np.nan), floats).view(np.int32) for floats in (answer, expected)
    ]
    np.testing.assert_array_equal(*patterns)


def encoded(rows, codec):
    left = torch.tensor(rows)
    return codec.encode(left).numpy(), left.numpy()


@FEW
@given(rows=rows_of(*FINITE, not_finite), k_ratio=RATIOS)
def test_kernels_give_the_bytes_and_the_errors_of_the_compiled_loops(interpreter, rows, k_ratio):
    codec = SparseRows(k_ratio)
    payload, left = interpreter.ask("encode", codec, rows)
    expected, expected_left = encoded(rows, codec)
    np.testing.assert_array_equal(payload, expected)
    assert_same_bits(left, expected_left)
    decoded = codec.decode(torch.from_numpy(payload), rows.shape[1]).numpy()
    finite = np.isfinite(decoded)
    np.testing.assert_array_equal((decoded + left)[finite], rows[finite])


@pytest.mark.parametrize("kind", [gaussian, few_values])
def test_a_row_of_several_programs_has_the_same_bytes_too(interpreter, kind):
    rows = kind(np.random.default_rng(5), 20_000)[None].astype(np.float32)
    for answer, expected in zip(
        interpreter.ask("encode", SparseRows(0.02), rows), encoded(rows, SparseRows(0.02)), strict=True
    ):
        np.testing.assert_array_equal(answer, expected)


@FEW
@given(rows=rows_of(*FINITE), k_ratio=RATIOS, values=st.sampled_from(["fp16", "int4"]))
def test_of_other_values_the_same_are_selected_and_the_same_is_left(interpreter, rows, k_ratio, values):
    codec, columns = SparseRows(k_ratio, values), rows.shape[1]
    payload, left = interpreter.ask("encode", codec, rows)
    expected, expected_left = encoded(rows, codec)
    low_at = sparse_layout(columns, k_ratio, values).low_at
    np.testing.assert_array_equal(payload[:, low_at:], expected[:, low_at:])
    assert_same_bits(left, expected_left)
    assert torch.equal(
        codec.decode(torch.from_numpy(payload), columns), codec.decode(torch.from_numpy(expected), columns)
    )


@FEW
@given(rows=rows_of(*FINITE, not_finite), k_ratio=RATIOS, values=st.sampled_from(["bf16", "fp16", "int4"]))
def test_rows_and_their_sum_are_decoded_to_the_same_bits(interpreter, rows, k_ratio, values):
    codec, columns = SparseRows(k_ratio, values), rows.shape[1]
    payload = codec.encode(torch.tensor(rows))
    for method in ("decode", "sum_of"):
        answer = interpreter.ask(method, codec, payload.numpy(), columns)
        assert_same_bits(answer, getattr(codec, method)(payload, columns).numpy())


@pytest.mark.parametrize("byte", [0x00, 0x5A, 0xFF])
@pytest.mark.parametrize("k_ratio", [0.01, 0.5])
def test_bytes_of_something_else_touch_no_other_row(interpreter, byte, k_ratio):
    codec = SparseRows(k_ratio)
    payload = np.full((1, codec.row_bytes(1000)), byte, np.uint8)
    out = interpreter.ask("add_between", codec, payload, 1000)
    assert not out[0].any()
    assert not out[2].any()


def test_every_kernel_compiles_for_a_gpu_and_keeps_subnormal_errors(tmp_path):
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    environment.pop("TRITON_INTERPRET", None)
    built = subprocess.run(
        [sys.executable, "-c", COMPILER], env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    assert {line.split()[0] for line in built.stdout.splitlines()} == {
        "_count_digits", "_append_digit", "_count_selected", "_pack_selected", "_count_ones", "_add_at_ones",
    }  # fmt: skip


def test_without_triton_torchs_operations_are_taken(monkeypatch):
    monkeypatch.setattr(sparse_rows, "find_spec", lambda name: None)
    assert not sparse_rows.triton_builds_for.__wrapped__(torch.device("cuda"))


def test_a_kernel_that_cannot_be_built_is_told_and_torchs_operations_are_taken(monkeypatch, caplog):
    def no_compiler(rows, layout):
        raise RuntimeError("Failed to find C compiler.")

    monkeypatch.setattr(sparse_rows, "encode_by_triton", no_compiler)
    monkeypatch.setattr(torch, "ones", lambda *size, device: torch.zeros(size))
    assert not sparse_rows.triton_builds_for.__wrapped__(torch.device("cuda", 0))
    assert "Failed to find C compiler" in caplog.text
