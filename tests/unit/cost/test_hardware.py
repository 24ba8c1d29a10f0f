"""Peaks say their precision and sparsity, or are not given out."""

from __future__ import annotations

from pathlib import Path

import pytest

from seedance_ops.cost.catalogue import CatalogueError
from seedance_ops.cost.hardware import HardwareMissing, load_hardware

SHIPPED = Path(__file__).resolve().parents[3] / "include" / "catalog" / "hardware.yaml"
ENTRY = (
    "{name: X, vendor: Y, power_w: 100, plausible_usd_per_hour: {low: 1, high: 2}, source: a sheet, "
    "date: 2026-01-02, basis: data sheet, "
    "peaks: [{dtype: bf16, sparsity: dense, units: matrix, tera_ops_per_s: 10}]}"
)


@pytest.fixture
def load(tmp_path):
    def write(text: str):
        (tmp_path / "hardware.yaml").write_text(text, encoding="utf-8")
        return load_hardware(tmp_path / "hardware.yaml")

    return write


# bf16 or fp16 dense TFLOPS and watts by the vendors' data sheets.
@pytest.mark.parametrize(
    ("key", "dtype", "dense", "power_w"),
    [
        ("a100-40gb", "bf16", 312, 400),
        ("a100-80gb", "bf16", 312, 400),
        ("h100", "bf16", 989.4, 700),
        ("h200", "bf16", 989.4, 700),
        ("mi250x", "bf16", 383.0, 560),
        ("mi300x", "bf16", 1307.4, 750),
        ("pvc", "bf16", 838.9, 600),
        ("l40s", "bf16", 362.05, 350),
        ("l4", "bf16", 121, 72),
        ("t4", "fp16", 65, 70),
        ("v100", "fp16", 125, 300),
    ],
)
def test_the_shipped_peaks_are_the_data_sheets(key, dtype, dense, power_w):
    accelerator = load_hardware(SHIPPED).accelerator(key)
    assert accelerator.peak(dtype).tera_ops_per_s == pytest.approx(dense)
    assert accelerator.power_w == power_w


def test_the_shipped_catalogue_has_twelve_accelerators_and_no_sparse_peak_above_twice_the_dense():
    entries = load_hardware(SHIPPED).entries
    assert len(entries) == 12
    for accelerator in entries.values():
        for peak in accelerator.peaks:
            if peak.sparsity == "sparse":
                assert peak.tera_ops_per_s <= 2.03 * accelerator.peak(peak.dtype).tera_ops_per_s


def test_a_core_of_an_epyc_7763_by_its_clock():
    # 32 fp32 operations a cycle × 2.45 GHz
    core = load_hardware(SHIPPED).accelerator("cpu-core")
    assert core.peak("fp32").tera_ops_per_s == pytest.approx(32 * 2.45e9 / 1e12)


def test_a_peak_that_the_sheet_does_not_have_is_an_error(load):
    accelerator = load(f"accelerators: {{x: {ENTRY}}}").accelerator("x")
    with pytest.raises(HardwareMissing, match=r"no sparse peak for bf16 \(it has: bf16 dense\)"):
        accelerator.peak("bf16", "sparse")


def test_an_unknown_accelerator_names_those_there_are(load):
    with pytest.raises(HardwareMissing, match=r"'b200' is not in .*it has: x"):
        load(f"accelerators: {{x: {ENTRY}}}").accelerator("b200")


def test_a_missing_file_is_missing_hardware(tmp_path):
    with pytest.raises(HardwareMissing, match="there is no hardware catalogue"):
        load_hardware(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("power_w: 100", "power_w: .nan"),
        ("power_w: 100", "power_w: 0"),
        ("sparsity: dense, ", ""),
        ("dtype: bf16, ", ""),
        ("low: 1", "low: 3"),
        ("source: a sheet, ", ""),
        ("dtype: bf16", "dtype: bf17"),
    ],
)
def test_an_entry_that_cannot_be_right_is_refused_by_name(old, new, load):
    with pytest.raises(CatalogueError, match=r"accelerators\.x"):
        load(f"accelerators: {{x: {ENTRY.replace(old, new)}}}")


@pytest.mark.parametrize("text", ["", "[]", "accelerators: {a: [}"])
def test_what_is_no_catalogue_is_refused(text, load):
    with pytest.raises(CatalogueError):
        load(text)
