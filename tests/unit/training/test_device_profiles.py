"""A device's threshold scale as a number of elements."""

import math

import pytest

from seedance_ops.training.compression.config import MixedPrecisionConfig
from seedance_ops.training.compression.device import DeviceProfile
from seedance_ops.training.compression.factory import make_reduction


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
