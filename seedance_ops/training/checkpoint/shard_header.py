"""The header of a shard, read without torch: what the file says it holds, and where; nothing is believed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seedance_ops.training.errors import CheckpointError

LENGTH_BYTES = 8
"""In front of the header: its length, little-endian."""
METADATA, OUTLINE = "__metadata__", "seedance.tree"
LONGEST_HEADER = 256 << 20
ITEM_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "C64": 8,
    "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}  # fmt: skip
"""Of an element of each kind that a shard may hold, by safetensors' names."""
_LARGEST_SIZE = 1 << 62
"""Of a tensor without its empty dimensions: torch counts in 63 bits."""


@dataclass(frozen=True)
class TensorPlace:
    """One tensor of a shard."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    """From the start of the file, in bytes."""
    end: int


@dataclass(frozen=True)
class ShardHeader:
    """What stands before the tensors' bytes."""

    tree: Any
    """The outline's JSON."""
    tensors: Mapping[str, TensorPlace]

    @classmethod
    def parse(cls, beginning: memoryview, total_bytes: int) -> ShardHeader:
        """Read a header.

        Args:
            beginning: The file's first bytes: at least ``header_bytes`` of them where it has as many.
            total_bytes: Of the file.

        Raises:
            CheckpointError: It is no such file: cut off, beyond its end, of an unknown type.
        """
        try:
            return cls._parsed(beginning, total_bytes)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise CheckpointError(f"it is no checkpoint file: {str(error)[:200]!r}") from error

    @classmethod
    def _parsed(cls, beginning: memoryview, total_bytes: int) -> ShardHeader:
        start = header_bytes(beginning)
        if start > min(LENGTH_BYTES + LONGEST_HEADER, total_bytes) or start > len(beginning):
            raise ValueError(f"a header of {start - LENGTH_BYTES} bytes in a file of {total_bytes}")
        head = json.loads(bytes(beginning[LENGTH_BYTES:start]))
        tree = json.loads(head.pop(METADATA)[OUTLINE])
        return cls(tree, {name: _place(name, entry, start, total_bytes) for name, entry in head.items()})


def header_bytes(beginning: memoryview) -> int:
    """Where the header ends, as the first ``LENGTH_BYTES`` of a file say; not yet believed."""
    return LENGTH_BYTES + int.from_bytes(beginning[:LENGTH_BYTES], "little")


def _place(name: str, entry: Mapping[str, Any], start: int, total_bytes: int) -> TensorPlace:
    item_bytes, shape = ITEM_BYTES[entry["dtype"]], tuple(int(size) for size in entry["shape"])
    begin, end = (int(offset) for offset in entry["data_offsets"])
    if min(shape, default=0) < 0 or not 0 <= begin <= end <= total_bytes - start:
        raise ValueError(f"{name} lies at {begin} … {end} of {total_bytes - start} bytes")
    if begin % item_bytes:
        raise ValueError(f"{name} begins at {begin}, between two elements")
    if math.prod(shape) * item_bytes != end - begin or math.prod(max(1, n) for n in shape) > _LARGEST_SIZE:
        raise ValueError(f"{name} has {end - begin} bytes, which is not its shape {shape}")
    return TensorPlace(entry["dtype"], shape, start + begin, start + end)
