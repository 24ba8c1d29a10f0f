"""Which peak an MFU divides by: dense, named, and of the accelerator that was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from seedance_ops.cost.catalogue import load_prices
from seedance_ops.cost.hardware import load_hardware
from seedance_ops.cost.peaks import is_of, mfu, training_peak

CATALOG = Path(__file__).parents[3] / "include/catalog"
HARDWARE = load_hardware(CATALOG / "hardware.yaml")


@pytest.mark.parametrize(
    ("key", "dtype", "tera_ops_per_s"),
    # NVIDIA's data sheets, without sparsity; V100 and T4 have no bf16.
    [("a100-80gb", "bf16", 312.0), ("h100", "bf16", 989.4), ("v100", "fp16", 125.0), ("t4", "fp16", 65.0)],
)
def test_the_peak_is_the_dense_one_of_the_training_precision(key, dtype, tera_ops_per_s):
    peak = training_peak(key, HARDWARE.accelerator(key))
    assert (peak.dtype, peak.sparsity) == (dtype, "dense")
    assert peak.tera_ops_per_s == pytest.approx(tera_ops_per_s)


def test_an_accelerator_without_such_a_peak_has_none():
    assert training_peak("cpu-core", HARDWARE.accelerator("cpu-core")) is None


def test_the_words_name_dtype_sparsity_units_and_source():
    words = training_peak("h100", HARDWARE.accelerator("h100")).words()
    assert words == (
        "989.4 TFLOPS, the dense bf16 peak of the H100 SXM5 80 GB (matrix units; NVIDIA H100 Tensor Core GPU "
        "data sheet)"
    )


@pytest.mark.parametrize(
    ("kind", "key", "same"),
    [
        ("H100", "h100", True),
        ("A100", "a100-80gb", True),
        ("A100-80GB", "a100-80gb", True),
        ("H100", "h200", False),
        ("L4", "l40s", False),
        ("cpu", "cpu-core", False),
    ],
)
def test_a_price_of_another_accelerator_says_nothing(kind, key, same):
    peak = training_peak("h100", HARDWARE.accelerator("h100")).model_copy(update={"accelerator": key})
    assert is_of(kind, peak) is same


def test_mfu_is_that_of_the_paper_which_defined_it():
    """PaLM 540B (Chowdhery et al. 2022, table 3, appendix B): 238,300 tokens/s on 6,144 TPU v4 are 46.2 %."""
    flops_per_token = 6 * 540.35e9 + 12 * 118 * 48 * 256 * 2048
    peak = training_peak("h100", HARDWARE.accelerator("h100")).model_copy(update={"tera_ops_per_s": 275.0})
    assert mfu(238.3e3 * flops_per_token / 1e12, 6144, peak) == pytest.approx(0.462, abs=5e-4)


def test_a_price_brings_the_peak_of_its_accelerator_and_a_catalogue_alone_brings_none(tmp_path):
    price = load_prices(CATALOG / "prices.yaml").price("aws-p5.48xlarge", variant="a")
    assert price.peak.accelerator == price.accelerator == "h100"
    assert load_prices(CATALOG / "prices.yaml").price("local-cpu", variant="a").peak is None
    alone = tmp_path / "prices.yaml"
    alone.write_text((CATALOG / "prices.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert load_prices(alone).price("aws-p5.48xlarge", variant="a").peak is None
