"""Samples once a second how busy a disk is, and how busy without this job's own writes."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from seedance_ops.training.checkpoint.interval.disk_counters import Counters, DiskCounters

PERIOD_S = 1.0
_REMEMBERED = 60

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sample:
    """Shares of the time between two readings, 0 to 1; ``None`` where unknown."""

    busy_share: float | None
    """The disk had work."""
    others_share: float | None
    """The part of it that others gave, by their share of the bytes."""


def sample(before: Counters, after: Counters) -> Sample:
    """How busy the disk was between two readings.

    The time with work is divided between this job and others by the bytes each moved: the kernel counts time
    for the disk alone. Without the disk's counters, time in which tasks waited stands for the others' share,
    but not while this job wrote: it cannot be divided.
    """
    elapsed_s = after.at_s - before.at_s
    if elapsed_s <= 0.0:
        return Sample(None, None)
    own = max(0, after.own_bytes - before.own_bytes)
    busy = _share(before.busy_s, after.busy_s, elapsed_s)
    if busy is not None and before.moved_bytes is not None and after.moved_bytes is not None:
        moved = after.moved_bytes - before.moved_bytes
        own_share = min(1.0, own / moved) if moved > 0 else 0.0
        return Sample(busy, busy * (1.0 - own_share))
    return Sample(None, None if own else _share(before.pressure_s, after.pressure_s, elapsed_s))


class Sampler:
    """A thread of its own; what it has seen is asked for at any time.

    Args:
        counters: Of the disk.
        period_s: Between readings.
    """

    def __init__(self, counters: DiskCounters, period_s: float = PERIOD_S) -> None:
        self._counters, self._period_s = counters, period_s
        self._samples: deque[Sample] = deque(maxlen=_REMEMBERED)
        self._ended = threading.Event()

    def start(self) -> None:
        """Begin; says once where the disk cannot be watched."""
        if why := self._counters.unknown():
            _log.warning("%s: how busy it is does not count for the checkpoint interval", why)
        # A daemon: it must not keep a process alive that has nothing else to do.
        threading.Thread(target=self._watch, name="checkpoint-disk", daemon=True).start()

    def busy_shares(self, count: int) -> tuple[float, ...]:
        """The newest in a row that are known, at most so many, oldest first."""
        return _newest([each.busy_share for each in tuple(self._samples)], count)

    def others_shares(self, count: int) -> tuple[float, ...]:
        """The same without this job's own writes."""
        return _newest([each.others_share for each in tuple(self._samples)], count)

    def close(self) -> None:
        """Take no more."""
        self._ended.set()

    def _watch(self) -> None:
        before = self._counters.read()
        while not self._ended.wait(self._period_s):
            after = self._counters.read()
            self._samples.append(sample(before, after))
            before = after


def _share(before_s: float | None, after_s: float | None, elapsed_s: float) -> float | None:
    if before_s is None or after_s is None or after_s < before_s:  # a counter that began anew
        return None
    return min(1.0, (after_s - before_s) / elapsed_s)


def _newest(shares: Sequence[float | None], count: int) -> tuple[float, ...]:
    known = takewhile(lambda share: share is not None, reversed(shares[-count:]))
    return tuple(share for share in known if share is not None)[::-1]
