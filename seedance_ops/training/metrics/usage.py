"""Measures what a rank uses beside its accelerator's time: requests, bytes sent, and energy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from seedance_ops.storage.traffic import Traffic
from seedance_ops.training.metrics.energy import EnergyCounter
from seedance_ops.training.metrics.records import UsageRecord

RUN = "run"
CHECKPOINT = "checkpoint"
COUNTED = "counted"
BYTES_PER_GB = 1e9
J_PER_KWH = 3.6e6
_ENERGY_INTERVAL_S = 30.0
"""A RAPL counter of 65 kJ, the smallest range there is, lasts a minute at 1 kW."""


class UsageMeter:
    """Tells what was used since it was last asked.

    Args:
        rank: This process's.
        traffic: The count of the client that this process sends with.
        energy: What this rank measures of energy; ``None`` where another rank of its node does.
    """

    def __init__(self, rank: int, traffic: Callable[[], Traffic], energy: EnergyCounter | None) -> None:
        self._rank = rank
        self._traffic = traffic
        self._told = traffic()
        self._energy = energy
        self._told_j = 0.0
        self._read_at_s = time.monotonic()

    def keep_up(self) -> None:
        """Call it often: reads the energy twice a minute, before a counter can go round unnoticed."""
        now_s = time.monotonic()
        if self._energy is not None and now_s - self._read_at_s >= _ENERGY_INTERVAL_S:
            self._read_at_s = now_s
            self._energy.joules()

    def take(self, stage: str) -> list[UsageRecord]:
        """What was used since the last call, for the bill's ``stage``."""
        return [*self._sent(stage), *self._drawn(stage)]

    def _sent(self, stage: str) -> Iterator[UsageRecord]:
        now = self._traffic()
        added, self._told = now.since(self._told), now
        for kind, count in sorted(added.requests.items()):
            yield self._record(stage, "requests", kind, float(count), COUNTED)
        if added.sent_bytes:
            yield self._record(stage, "egress", "-", added.sent_bytes / BYTES_PER_GB, COUNTED)

    def _drawn(self, stage: str) -> Iterator[UsageRecord]:
        if self._energy is None:
            return
        now_j = self._energy.joules()
        method = self._energy.method
        if now_j is None:  # said once: an unknown part makes the sum unknown
            self._energy = None
            yield self._record(stage, "energy", "-", None, method)
        elif now_j > self._told_j:
            drawn_j, self._told_j = now_j - self._told_j, now_j
            yield self._record(stage, "energy", "-", drawn_j / J_PER_KWH, method)

    def _record(
        self, stage: str, component: str, tier: str, quantity: float | None, method: str
    ) -> UsageRecord:
        return UsageRecord(self._rank, time.time(), stage, component, tier, quantity, method)
