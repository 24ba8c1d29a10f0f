"""A shard's bytes: a safetensors file whose header is written by hand, so that content is copied only once.

Hugging Face's library builds a file from tensors that it copies into a buffer of its own, and reads one from
a path. A checkpoint is staged into memory that is allocated once, and is read from there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch

from seedance_ops.training.errors import CheckpointError

ALIGNMENT = 4096
"""Of a shard in memory, and of its first tensor: a page, and what O_DIRECT asks for."""
_LENGTH_BYTES = 8
_LONGEST_HEADER = 256 << 20
_METADATA, _OUTLINE = "__metadata__", "seedance.tree"
_DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "C64": torch.complex64,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U64": torch.uint64, "U32": torch.uint32, "U16": torch.uint16, "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
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
        head: dict[str, Any] = {_METADATA: {_OUTLINE: json.dumps(tree, separators=(",", ":"))}}
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
        text += b" " * (-(_LENGTH_BYTES + len(text)) % ALIGNMENT)
        header = len(text).to_bytes(_LENGTH_BYTES, "little") + text
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
            CheckpointError: It is no such file: cut off, overlapping, beyond its end, of an unknown type.
        """
        try:
            return cls._parsed(data)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CheckpointError(f"it is no checkpoint file: {error!r}") from error

    @classmethod
    def _parsed(cls, data: memoryview) -> ShardContent:
        length = int.from_bytes(data[:_LENGTH_BYTES], "little")
        start = _LENGTH_BYTES + length
        if length > _LONGEST_HEADER or start > len(data):
            raise ValueError(f"a header of {length} bytes in a file of {len(data)}")
        head = json.loads(bytes(data[_LENGTH_BYTES:start]))
        tree = json.loads(head.pop(_METADATA)[_OUTLINE])
        return cls(tree, dict(_tensors(head, data[start:])))


def _tensors(head: Mapping[str, Any], data: memoryview) -> Iterator[tuple[str, torch.Tensor]]:
    for name, entry in head.items():
        dtype, shape = _DTYPES[entry["dtype"]], [int(size) for size in entry["shape"]]
        begin, end = (int(offset) for offset in entry["data_offsets"])
        if min(shape, default=0) < 0 or not 0 <= begin <= end <= len(data):
            raise ValueError(f"{name} lies at {begin} … {end} of {len(data)} bytes")
        if begin % dtype.itemsize:
            raise ValueError(f"{name} begins at {begin}, between two elements")
        if math.prod(shape) * dtype.itemsize != end - begin:
            raise ValueError(f"{name} has {end - begin} bytes, which is not its shape {shape}")
        yield (
            name,
            (
                torch.frombuffer(data[begin:end], dtype=dtype).view(shape)
                if begin < end
                else torch.empty(shape, dtype=dtype)
            ),
        )
