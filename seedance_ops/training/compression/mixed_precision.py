"""Mixed precision among unlike devices: each selects by its own profile, and all get the same mean (R3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import torch.distributed as dist

from seedance_ops.training.compression.base import Bound
from seedance_ops.training.compression.device import DeviceProfile, device_of
from seedance_ops.training.compression.mixed_rows import mixed_codec
from seedance_ops.training.compression.owner_mean import Codecs
from seedance_ops.training.compression.owner_reduce import OwnerReduce
from seedance_ops.training.errors import ConfigurationError


class MixedPrecision(OwnerReduce):
    """``OwnerReduce`` in which a rank's message is as long as its device's profile says.

    Every rank knows the share of every other one from the plan. The owners' answers are all encoded alike,
    as the rank does that sends most: with the largest share, or in full where some device does not select at
    all. So an owner never has to select that is not to, and every rank decodes the same bytes to the same
    bits.
    """

    def __init__(
        self,
        k_ratio: float | None,
        trunk_ratio: float,
        devices: Sequence[DeviceProfile] = (),
        *,
        error_feedback: bool = True,
        two_levels: bool = False,
    ) -> None:
        """``k_ratio`` is none where nothing is selected; ``devices`` stand for equal stretches of ranks."""
        self._k_ratio, self._trunk_ratio = k_ratio, trunk_ratio
        self._devices = tuple(devices) or (DeviceProfile(device="any"),)
        first = mixed_codec(self._k_of(self._devices[0]), trunk_ratio)
        super().__init__("mixed_precision", first, error_feedback=error_feedback, two_levels=two_levels)

    def bind(self, bound: Bound) -> None:
        """Take each rank's codec from its device; open the lane.

        Raises:
            ConfigurationError: Two levels with several devices: the ranks that share a row would not know
                each other's by their place among them.
        """
        if self._two_levels and len(self._devices) > 1:
            raise ConfigurationError(
                f"gradient_compression.two_levels needs one kind of device, and there are profiles of "
                f"{len(self._devices)} ({', '.join(device.device for device in self._devices)}): leave the "
                "key out, or name one device"
            )
        # Under FSDP only ranks with the same shard exchange messages, and are known by their place there.
        group = bound.group or dist.group.WORLD
        assert group is not None, "a process group comes before bind()"
        world = dist.get_world_size()
        shares = [
            self._k_of(device_of(self._devices, rank, world)) for rank in dist.get_process_group_ranks(group)
        ]
        codecs = {share: mixed_codec(share, self._trunk_ratio) for share in dict.fromkeys(shares)}
        answer = None if None in codecs else max(share for share in codecs if share is not None)
        self._codec = codecs[shares[dist.get_rank(group)]]
        self._codecs = Codecs(tuple(codecs[share] for share in shares), codecs[answer])
        super().bind(bound)

    def _k_of(self, device: DeviceProfile) -> float | None:
        return None if self._k_ratio is None else device.k_of(self._k_ratio)
