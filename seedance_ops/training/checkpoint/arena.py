"""The memory that shards are staged in: allocated once, used for every checkpoint, pinned for a GPU.

Freshly allocated memory takes five times as long to copy into as memory that was touched before.
"""

from __future__ import annotations

import mmap

import torch

from seedance_ops.training.checkpoint.shard_format import ALIGNMENT

_GROWTH = 1.02
"""Spare room, so that a header that got longer by some digits does not need other memory."""


class Arena:
    """One rank's staging memory; grows where a checkpoint is larger than any before."""

    def __init__(self, *, pinned: bool) -> None:
        """Nothing is allocated yet.

        Args:
            pinned: Whether a GPU copies into it.
        """
        self._pinned = pinned
        self._memory: mmap.mmap | None = None
        self._registered: int | None = None

    def room(self, sizes: list[int]) -> list[memoryview]:
        """Room for pieces of these sizes, each on a page of its own; what was there before is gone."""
        padded = [size + -size % ALIGNMENT for size in sizes]
        whole = self._of(sum(padded))
        places, begin = [], 0
        for size, reserved in zip(sizes, padded, strict=True):
            places.append(whole[begin : begin + size])
            begin += reserved
        return places

    def close(self) -> None:
        """Give the memory back, once no view of it is used."""
        self._unregister()
        self._memory = None

    def _of(self, size: int) -> memoryview:
        if self._memory is None or len(self._memory) < size:
            self.close()
            self._memory = mmap.mmap(
                -1, max(ALIGNMENT, int(size * _GROWTH) + -int(size * _GROWTH) % ALIGNMENT)
            )
            if self._pinned:
                self._register(self._memory)
        return memoryview(self._memory)

    def _register(self, memory: mmap.mmap) -> None:
        address = torch.frombuffer(memory, dtype=torch.uint8).data_ptr()
        code = torch.cuda.cudart().cudaHostRegister(address, len(memory), 0)  # type: ignore[no-untyped-call]
        # Copies into memory that could not be pinned are slower, and as right.
        self._registered = address if int(code) == 0 else None

    def _unregister(self) -> None:
        if self._registered is not None:
            torch.cuda.cudart().cudaHostUnregister(self._registered)  # type: ignore[no-untyped-call]
            self._registered = None
