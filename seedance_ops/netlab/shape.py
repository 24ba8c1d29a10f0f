"""What a laboratory looks like: how many ranks, and how fast the link of each."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seedance_ops.strict_model import StrictModel

MOST_RANKS = 1023
"""Ports of one Linux bridge (``BR_MAX_PORTS`` in the kernel's net/bridge/br_private.h, less port 0)."""

SLOWEST_MBIT, FASTEST_MBIT = 0.1, 100_000.0
SMALLEST_BURST_KB, LARGEST_BURST_KB = 4, 65_536

_KIB = 1024
_BURST_S = 0.002
"""A timer that fires this late loses nothing: tokens for so long fit into the bucket."""
_LEAST_BURST_BYTES = 32 * _KIB
_QUEUE_S = 0.2
_LEAST_QUEUE_BYTES = 256 * _KIB


class LabShape(StrictModel):
    """Ranks, and the speed of each rank's link in the direction away from it."""

    ranks: Annotated[int, Field(ge=1, le=MOST_RANKS)] = 2
    """Network namespaces, one process each."""
    mbit: Annotated[float, Field(ge=SLOWEST_MBIT, le=FASTEST_MBIT)] | None = None
    """Mbit/s (10⁶ bits) that each rank may send; none: as fast as the machine copies."""
    burst_kb: Annotated[int, Field(ge=SMALLEST_BURST_KB, le=LARGEST_BURST_KB)] | None = None
    """KiB that an idle link sends at once, before the rate holds; none: 2 ms of the rate, 32 KiB at least."""

    @property
    def rate_bit_per_s(self) -> int | None:
        """The rate in bit/s; none for an unshaped link."""
        return None if self.mbit is None else round(self.mbit * 1e6)

    @property
    def burst_bytes(self) -> int:
        """The size of the token bucket."""
        if self.burst_kb is not None:
            return self.burst_kb * _KIB
        return max(_LEAST_BURST_BYTES, round((self.rate_bit_per_s or 0) / 8 * _BURST_S))

    @property
    def queue_bytes(self) -> int:
        """What may wait for tokens before packets are dropped: 200 ms of the rate and one burst."""
        return max(_LEAST_QUEUE_BYTES, round((self.rate_bit_per_s or 0) / 8 * _QUEUE_S)) + self.burst_bytes
