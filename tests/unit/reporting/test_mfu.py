"""MFU in the run table and the report: only with a known peak and a GPU at work, and it says which peak."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seedance_ops.cost.peaks import PeakUsed
from seedance_ops.reporting.run_table import assemble
from tests.unit.reporting.conftest import JOB, PRICE
from tests.unit.reporting.test_report import report_of

PEAK = PeakUsed(
    accelerator="h100", name="H100", dtype="bf16", sparsity="dense", units="matrix", tera_ops_per_s=20.0,
    source="a data sheet",
)  # fmt: skip


@pytest.fixture
def on(make_manifest, make_tables):
    """Manifest and tables of the made-up run on this kind of accelerator, its GPU busy 90 % of the time."""

    def with_kind(kind, *, peak=PEAK, seen=0.9):
        manifest = make_manifest(JOB.replace("cpu:2", f"{kind}:2"))
        price = PRICE.model_copy(update={"peak": peak})
        manifest = manifest.model_copy(update={"prices": dict.fromkeys(manifest.job.variants, price)})
        tables = make_tables(manifest)
        return manifest, replace(tables, steps=tables.steps.assign(gpu_utilisation=seen))

    return with_kind


def test_it_divides_by_all_accelerators_at_the_named_peak(on, judge_tables):
    manifest, tables = on("H100")
    judged = judge_tables(manifest, tables)
    # 12 FLOP·10¹² in 3 s are 4 TFLOPS; two accelerators could do 40.
    assert judged.table.frame["mfu"].tolist() == pytest.approx([0.1] * 15)
    report = report_of(judged, {})
    assert "MFU" in [column.title for column in report.columns]
    (said,) = [line for line in report.limits if "MFU" in line]
    assert said.startswith("baseline, bf16, topk: MFU is achieved model FLOPS per accelerator ÷ 20 TFLOPS")
    assert "the dense bf16 peak of the H100 (matrix units; a data sheet)" in said


@pytest.mark.parametrize(
    ("kind", "peak", "seen"), [("H100", None, 0.9), ("B300", PEAK, 0.9), ("H100", PEAK, np.nan)]
)
def test_there_is_none_without_a_known_peak_or_a_gpu_at_work(kind, peak, seen, on, judge_tables):
    manifest, tables = on(kind, peak=peak, seen=seen)
    assert assemble(manifest, tables).frame["mfu"].isna().all()
    report = report_of(judge_tables(manifest, tables), {})
    assert "MFU" not in [column.title for column in report.columns]
    said = [line for line in report.limits if "MFU" in line]
    assert len(said) == (0 if np.isnan(seen) else 1)
    assert all("no MFU" in line for line in said)
