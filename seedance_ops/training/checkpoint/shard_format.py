"""A shard's bytes: a safetensors file whose header is written by hand, so that content is copied only once.

Hugging Face's library builds a file from tensors that it copies into a buffer of its own, and reads one from
a path. A checkpoint is staged into memory that is allocated once, and is read from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch

from seedance_ops.training.checkpoint.shard_header import (
    ITEM_BYTES,
    LENGTH_BYTES,
    METADATA,
    OUTLINE,
    ShardHeader,
)
from seedance_ops.training.errors import CheckpointError

ALIGNMENT = 4096
"""Of a shard in memory, and of its first tensor: a page, and what O_DIRECT asks for."""
_DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "C64": torch.complex64,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U64": torch.uint64, "U32": torch.uint32, "U16": torch.uint16, "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
assert {name: dtype.itemsize for name, dtype in _DTYPES.items()} == ITEM_BYTES
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


@dataclass(frozen=True)
class ShardLayout:
    """Where everything of one shard stands."""

    header: bytes
    """With its length in front, padded to ``ALIGNMENT``."""
    tensors: tuple[torch.Tensor, ...]
    """The live ones, in the order of the file."""
    offsets: tuple[int, ...]
    """Of each tensor from the start of the file, and the end of the last."""

    @property
    def total_bytes(self) -> int:
        """Length of the file."""
        return self.offsets[-1]

    @classmethod
    def plan(cls, tensors: Mapping[str, torch.Tensor], tree: Any) -> ShardLayout:
        """Lay a shard out; ``tree`` is JSON that is kept beside the tensors.

        Raises:
            CheckpointError: A tensor is of a kind that a file cannot hold, with its name.
        """
        # The largest elements first, so that every tensor is aligned to its own.
        ordered = sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
        ends = list(accumulate((tensor.nbytes for _, tensor in ordered), initial=0))
        head: dict[str, Any] = {METADATA: {OUTLINE: json.dumps(tree, separators=(",", ":"))}}
        for (name, tensor), (begin, end) in zip(ordered, pairwise(ends), strict=True):
            if tensor.dtype not in _NAMES:
                raise CheckpointError(
                    f"{name} is {tensor.dtype}, {tensor.layout}: a checkpoint cannot hold it"
                )
            head[name] = {
                "dtype": _NAMES[tensor.dtype],
                "shape": list(tensor.shape),
                "data_offsets": [begin, end],
            }
        text = json.dumps(head, separators=(",", ":")).encode()
        text += b" " * (-(LENGTH_BYTES + len(text)) % ALIGNMENT)
        header = len(text).to_bytes(LENGTH_BYTES, "little") + text
        return cls(header, tuple(tensor for _, tensor in ordered), tuple(len(header) + each for each in ends))

    def stage(self, target: memoryview) -> None:
        """Copy the shard's content; of tensors on a GPU in their own stream, until they have arrived."""
        target[: len(self.header)] = self.header
        for tensor, (begin, end) in zip(self.tensors, pairwise(self.offsets), strict=True):
            if begin < end:
                _copy(tensor, target[begin:end])
        if any(tensor.is_cuda for tensor in self.tensors):
            torch.cuda.synchronize()


def _copy(tensor: torch.Tensor, target: memoryview) -> None:
    if tensor.device.type == "cpu" and tensor.is_contiguous():
        # One thread: torch's copy takes all of them, which are training's (FACTS: four times as slow).
        np.copyto(np.frombuffer(target, np.uint8), tensor.reshape(-1).view(torch.uint8).numpy())
    else:
        place = torch.frombuffer(target, dtype=tensor.dtype).view(tensor.shape)
        place.copy_(tensor, non_blocking=True)


@dataclass(frozen=True)
class ShardContent:
    """A shard that was read, without a copy: tensors are views of the buffer."""

    tree: Any
    tensors: Mapping[str, torch.Tensor]

    @classmethod
    def parse(cls, data: memoryview) -> ShardContent:
        """Read a shard from memory; nothing in it is believed.

        Raises:
            CheckpointError: It is no such file: cut off, beyond its end, of an unknown type.
        """
        header = ShardHeader.parse(data, len(data))
        return cls(header.tree, dict(_tensors(header, data)))


def _tensors(header: ShardHeader, data: memoryview) -> Iterator[tuple[str, torch.Tensor]]:
    for name, place in header.tensors.items():
        dtype, shape = _DTYPES[place.dtype], place.shape
        yield (
            name,
            (
                torch.frombuffer(data[place.begin : place.end], dtype=dtype).view(shape)
                if place.begin < place.end
                else torch.empty(shape, dtype=dtype)
            ),
        )
