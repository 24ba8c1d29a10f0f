"""A sweep is a job like any other: its file loads, and has the settings that were asked for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from seedance_ops.jobs.device_profiles import device_profiles
from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.sweep import Sweep, sweep_name, sweep_text

CATALOGUE = Path(__file__).resolve().parents[3] / "include" / "catalog" / "hardware.yaml"


@pytest.fixture
def swept(valid, load, project):
    shutil.copy(CATALOGUE, project.hardware_file)
    return lambda sweep: load(sweep_text(load(valid).job, sweep)).job


def test_the_sweep_is_the_baseline_and_a_variant_for_each_setting(swept, valid, load):
    sweep = Sweep(k_ratios=(0.001, 0.05), devices=(("a100",), ("a100", "mi250x")), bits=(2.35,), levels=(15,))
    job = swept(sweep)
    assert list(job.variants) == [
        "baseline",
        *("mixed-0-001-a100", "mixed-0-05-a100", "mixed-0-001-a100-mi250x", "mixed-0-05-a100-mi250x"),
        *("bits-2-35", "levels-15"),
    ]
    assert job.resolve("bits-2-35").compression.bits_per_element == 2.35
    assert job.resolve("levels-15").compression.levels == 15
    assert job.resolve("mixed-0-05-a100").compression.k_ratio == 0.05
    assert job.resolve("baseline").workload == load(valid).job.resolve("baseline").workload
    assert job.repeats == load(valid).job.repeats


def test_a_mixed_device_averages_over_gloo(swept, project):
    job = swept(Sweep(k_ratios=(0.01,), devices=(("a100", "mi250x"),)))
    variant = job.resolve("mixed-0-01-a100-mi250x")
    assert variant.compression.allreduce_backend == "gloo"
    assert [one.vendor for one in device_profiles(variant, project)] == ["NVIDIA", "AMD"]


def test_what_speaks_of_the_jobs_own_variants_is_left_out(swept):
    job = swept(Sweep(k_ratios=(0.01,)))
    assert (job.gates, job.params, job.schedule, job.accept) == ((), (), None, "report")


def test_a_setting_out_of_bounds_is_an_error_of_the_sweep(swept):
    with pytest.raises(JobErrors, match="k_ratio"):
        swept(Sweep(k_ratios=(0.2,)))


def test_a_long_name_is_cut_so_that_it_stays_a_name(valid, load):
    job = load(valid).job
    long = job.model_copy(update={"metadata": job.metadata.model_copy(update={"name": "a" * 42 + "-bcdefg"})})
    assert sweep_name(long) == "a" * 42 + "-pareto"
