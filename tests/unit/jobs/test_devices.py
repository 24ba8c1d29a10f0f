"""A job's devices are resolved from the hardware catalogue when it is planned, or refused when checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from seedance_ops.cost.hardware import load_hardware
from seedance_ops.jobs.device_profiles import device_profiles, profile_of

CATALOGUE = Path(__file__).resolve().parents[3] / "include" / "catalog" / "hardware.yaml"
TOPK = "gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}"


@pytest.fixture
def mixed(spoil, project):
    """The valid job with ``mixed_precision``, in a project with the shipped catalogue."""
    shutil.copy(CATALOGUE, project.hardware_file)

    def text(keys: str, *changes: tuple[str, str]) -> str:
        return spoil((TOPK, f"gradient_compression: {{algorithm: mixed_precision{keys}}}"), *changes)

    return text


@pytest.mark.parametrize(
    ("name", "scale"), [("a100", 1.0), ("A100", 1.0), ("a100-80gb", 1.0), ("mi250x", 0.87), ("pvc", 0.93)]
)
def test_the_shipped_profiles_are_those_of_the_report_and_say_so(name, scale):
    profile = profile_of(name, load_hardware(CATALOGUE))
    assert (profile.threshold_scale, profile.k_range, profile.top_k) == (scale, (0.001, 0.05), True)
    assert profile.basis == "published"


def test_auto_is_the_accelerator_that_the_job_asks_for(mixed, load, project):
    job = load(mixed("", ('"cpu:2"', '"MI250X:2"'))).job
    (profile,) = device_profiles(job.resolve("topk"), project)
    assert (profile.device, profile.vendor, profile.threshold_scale) == ("mi250x", "AMD", 0.87)
    assert device_profiles(job.resolve("baseline"), project) == ()


@pytest.mark.parametrize("kind", ["cpu:2", "H100:2", "NewChip:2"])
def test_what_nobody_has_published_or_measured_counts_as_neutral(kind, mixed, load, project):
    job = load(mixed("", ('"cpu:2"', f'"{kind}"'))).job
    (profile,) = device_profiles(job.resolve("topk"), project)
    assert (profile.threshold_scale, profile.basis) == (1.0, "none")


def test_a_named_device_counts_whatever_the_job_runs_on(mixed, load, project):
    job = load(mixed(", device: pvc")).job
    (profile,) = device_profiles(job.resolve("topk"), project)
    assert (profile.device, profile.threshold_scale) == ("pvc", 0.93)


def test_an_unknown_device_is_refused_where_it_stands(mixed, errors_of):
    (error,) = errors_of(mixed(", device: mi999"))
    assert error.path == "variants.topk.gradient_compression.device"
    assert "mi999" in error.message
    assert "mi250x" in error.message


def test_several_vendors_need_gloo_and_are_told_so(mixed, load, errors_of, project):
    (error,) = errors_of(mixed(", device: [a100, mi250x]"))
    assert error.path == "variants.topk.gradient_compression.device"
    assert "NVIDIA, AMD" in error.message
    assert "allreduce_backend: gloo" in error.suggestion
    job = load(mixed(", device: [a100, mi250x], allreduce_backend: gloo")).job
    assert [one.threshold_scale for one in device_profiles(job.resolve("topk"), project)] == [1.0, 0.87]


def test_more_devices_than_ranks_are_refused(mixed, errors_of):
    (error,) = errors_of(mixed(", device: [a100, a100-80gb, h100]"))
    assert "3 devices for 2 ranks" in error.message
