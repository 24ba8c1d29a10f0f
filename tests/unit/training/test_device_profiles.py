"""A device's threshold scale as a number of elements."""

import math

import pytest

from seedance_ops.training.compression.config import MixedPrecisionConfig
from seedance_ops.training.compression.device import DeviceProfile, device_of
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.environment import JobEnvironment
from seedance_ops.training.errors import ConfigurationError
from tests.small_plan import small_plan


@pytest.mark.parametrize(("scale", "k"), [(1.0, 0.01), (0.87, 0.018197), (0.93, 0.013804)])
def test_a_scaled_threshold_lets_through_what_a_laplace_distribution_has_beyond_it(scale, k):
    """exp(-t) = 0.01 at t = 4.60517; exp(-0.87 · 4.60517) = 0.018197, exp(-0.93 · 4.60517) = 0.013804."""
    assert DeviceProfile(device="x", threshold_scale=scale).k_of(0.01) == pytest.approx(k, abs=1e-6)
    assert k == pytest.approx(math.exp(scale * math.log(0.01)), abs=1e-6)


def test_the_share_stays_in_the_devices_range():
    profile = DeviceProfile(device="x", threshold_scale=0.5, k_range=(0.002, 0.05))
    assert profile.k_of(0.01) == 0.05
    assert DeviceProfile(device="x", k_range=(0.002, 0.05)).k_of(0.001) == 0.002


def test_a_device_without_top_k_sends_everything():
    assert DeviceProfile(device="x", top_k=False).k_of(0.01) is None


def test_a_lower_scale_sends_more_bytes():
    config = MixedPrecisionConfig(algorithm="mixed_precision")
    sent = [
        make_reduction(config, [DeviceProfile(device="x", threshold_scale=scale)]).declared_bytes(
            [(512, 512)], 4
        )
        for scale in (1.0, 0.93, 0.87)
    ]
    assert sent == sorted(set(sent))


def test_devices_stand_for_equal_stretches_of_the_ranks():
    a, b, c = (DeviceProfile(device=name) for name in "abc")
    assert [device_of((a, b), rank, 4).device for rank in range(4)] == ["a", "a", "b", "b"]
    assert [device_of((a, b, c), rank, 4).device for rank in range(4)] == ["a", "a", "b", "c"]
    assert [device_of((a,), rank, 2).device for rank in range(2)] == ["a", "a"]


@pytest.mark.parametrize("backend", [None, "nccl"])
def test_a_plan_of_several_vendors_without_gloo_ends_before_any_group_is_made(tmp_path, backend):
    plan = small_plan(
        compression={"algorithm": "mixed_precision", "allreduce_backend": backend},
        device_profiles=[{"device": "a100", "vendor": "NVIDIA"}, {"device": "pvc", "vendor": "Intel"}],
    )
    plan.write(tmp_path / "plan")
    with pytest.raises(ConfigurationError, match=r"NVIDIA, Intel.*gloo"):
        JobEnvironment.read({"SEEDANCE_PLAN": str(tmp_path / "plan")})
    gloo = plan.compression.model_copy(update={"allreduce_backend": "gloo"})
    plan.model_copy(update={"compression": gloo}).write(tmp_path / "plan")
    assert (
        JobEnvironment.read({"SEEDANCE_PLAN": str(tmp_path / "plan")}).device_profiles == plan.device_profiles
    )
