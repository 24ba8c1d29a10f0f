"""Mixed precision among unlike devices: each selects by its own profile, and all get the same mean (R3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch.distributed as dist

from seedance_ops.training.compression.base import Bound
from seedance_ops.training.compression.device import DeviceProfile, device_of
from seedance_ops.training.compression.mixed_rows import mixed_codec
from seedance_ops.training.compression.owner_mean import Codecs
from seedance_ops.training.compression.owner_reduce import OwnerReduce
from seedance_ops.training.errors import ConfigurationError


@dataclass(frozen=True)
class _Rank:
    """What a rank tells the others of itself."""

    device: str
    vendor: str | None
    k_ratio: float | None


class MixedPrecision(OwnerReduce):
    """``OwnerReduce`` in which a rank's message is as long as its device's profile says.

    Ranks tell each other their share once, in ``bind``. The owners' answers are all encoded alike, as the
    rank does that sends most: with the largest share, or in full where some device does not select at all.
    So an owner never has to select that is not to, and every rank decodes the same bytes to the same bits.
    """

    def __init__(
        self,
        k_ratio: float | None,
        trunk_ratio: float,
        devices: Sequence[DeviceProfile] = (),
        *,
        error_feedback: bool = True,
    ) -> None:
        """``k_ratio`` is none where nothing is selected; ``devices`` stand for equal stretches of ranks."""
        self._k_ratio, self._trunk_ratio = k_ratio, trunk_ratio
        self._devices = tuple(devices) or (DeviceProfile(device="any"),)
        first = mixed_codec(self._k_of(self._devices[0]), trunk_ratio)
        super().__init__("mixed_precision", first, error_feedback=error_feedback)

    def bind(self, bound: Bound) -> None:
        """Tell the others, and agree; a collective call.

        Raises:
            ConfigurationError: Devices of several vendors, and a backend that only one of them has.
        """
        ranks = dist.get_world_size()
        own = device_of(self._devices, dist.get_rank(), ranks)
        everyone = [_Rank(own.device, own.vendor, self._k_of(own))] * ranks
        dist.all_gather_object(everyone, everyone[0])
        _refuse_one_vendors_backend(everyone)
        # Under FSDP only ranks with the same shard exchange messages, and are known by their place there.
        group = bound.group or dist.group.WORLD
        assert group is not None, "a process group comes before bind()"
        shares = [everyone[rank].k_ratio for rank in dist.get_process_group_ranks(group)]
        codecs = {share: mixed_codec(share, self._trunk_ratio) for share in dict.fromkeys(shares)}
        answer = None if None in codecs else max(share for share in codecs if share is not None)
        self._codec = codecs[self._k_of(own)]
        self._codecs = Codecs(tuple(codecs[share] for share in shares), codecs[answer])
        super().bind(bound)

    def _k_of(self, device: DeviceProfile) -> float | None:
        return None if self._k_ratio is None else device.k_of(self._k_ratio)


def _refuse_one_vendors_backend(everyone: Sequence[_Rank]) -> None:
    backend = dist.get_backend()
    vendors: dict[str | None, int] = {}
    for number, rank in enumerate(everyone):
        vendors.setdefault(rank.vendor, number)
    if len(vendors) > 1 and backend != "gloo":
        named = ", ".join(f"rank {n} has {everyone[n].device} ({v or 'unknown'})" for v, n in vendors.items())
        raise ConfigurationError(
            f"devices of several vendors are in one {backend} group: {named}; NCCL, RCCL and XCCL cannot "
            "talk to each other: write gradient_compression.allreduce_backend: gloo"
        )
