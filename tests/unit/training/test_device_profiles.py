"""A device's threshold scale as a number of elements."""

import math

import pytest
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore

from seedance_ops.training.compression.base import Bound
from seedance_ops.training.compression.config import MixedPrecisionConfig
from seedance_ops.training.compression.device import DeviceProfile, device_of
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.environment import JobEnvironment
from seedance_ops.training.errors import ConfigurationError
from seedance_ops.training.plan import LaunchPlan


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


@pytest.mark.parametrize("backend", ["nccl", "xccl"])
def test_several_vendors_in_one_group_of_a_vendors_backend_are_refused(monkeypatch, backend):
    """As if a second rank had told of its device: no such group can be made here."""

    def gathered(everyone, own):
        everyone[:] = [own, type(own)("mi250x", "AMD", 0.018)]

    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(dist, "get_rank", lambda: 0)
    monkeypatch.setattr(dist, "get_backend", lambda: backend)
    monkeypatch.setattr(dist, "all_gather_object", gathered)
    config = MixedPrecisionConfig(algorithm="mixed_precision")
    reduction = make_reduction(config, [DeviceProfile(device="a100", vendor="NVIDIA")])
    with pytest.raises(ConfigurationError, match=r"rank 0 has a100 .NVIDIA., rank 1 has mi250x .AMD.*gloo"):
        reduction.bind(Bound({}, torch.device("cpu")))


def test_one_vendor_is_not_refused():
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        reduction = make_reduction(MixedPrecisionConfig(algorithm="mixed_precision"))
        reduction.bind(Bound({}, torch.device("cpu")))
        reduction.close()
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("backend", [None, "nccl"])
def test_a_plan_of_several_vendors_without_gloo_ends_before_any_group_is_made(tmp_path, backend):
    plan = LaunchPlan.model_validate(
        {
            "job": "j",
            "job_hash": "h",
            "run_id": "r",
            "variant": "v",
            "seed": 0,
            "submission": 1,
            "batch": {"per_rank": 1},
            "stop": {"steps": 1},
            "storage": {"uri": "s3://bucket/run"},
            "compression": {"algorithm": "mixed_precision", "allreduce_backend": backend},
            "device_profiles": [{"device": "a100", "vendor": "NVIDIA"}, {"device": "pvc", "vendor": "Intel"}],
        }
    )
    plan.write(tmp_path / "plan")
    with pytest.raises(ConfigurationError, match=r"NVIDIA, Intel.*gloo"):
        JobEnvironment.read({"SEEDANCE_PLAN": str(tmp_path / "plan")})
    gloo = plan.compression.model_copy(update={"allreduce_backend": "gloo"})
    plan.model_copy(update={"compression": gloo}).write(tmp_path / "plan")
    assert (
        JobEnvironment.read({"SEEDANCE_PLAN": str(tmp_path / "plan")}).device_profiles == plan.device_profiles
    )
