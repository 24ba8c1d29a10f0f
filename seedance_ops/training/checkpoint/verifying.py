"""Reads a checkpoint's shards piece by piece and says what is wrong with each; memory is bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from blake3 import blake3

from seedance_ops.storage.errors import ObjectMissing
from seedance_ops.training.checkpoint.digests import CHUNK_BYTES, checksums, chunks
from seedance_ops.training.checkpoint.manifest import CheckpointFile, CheckpointManifest
from seedance_ops.training.checkpoint.outline import assemble
from seedance_ops.training.checkpoint.shard_header import (
    LENGTH_BYTES,
    LONGEST_HEADER,
    ShardHeader,
    header_bytes,
)
from seedance_ops.training.checkpoint.shard_source import ShardSource
from seedance_ops.training.checkpoint.survey import missing_parts
from seedance_ops.training.errors import CheckpointError

WINDOW_BYTES = 8 * CHUNK_BYTES
"""Read at once: two parts' worth, which a store is asked for in parallel."""

Advance = Callable[[int], None]
"""Told of every so many bytes that were read."""
Keep = Callable[[memoryview], object]
"""Given every piece of a shard in order, before all of it is known to be whole."""


@dataclass(frozen=True)
class Damage:
    """What is wrong with one file."""

    file: str
    problem: str


def verify(manifest: CheckpointManifest, source: ShardSource, advance: Advance) -> list[Damage]:
    """Read every shard and check size, CRC32C, BLAKE3, and that it can be parsed; empty where all is whole.

    Raises:
        StorageError: The store does not answer: nothing is known then.
        OSError: The same of a disk.
    """
    damaged = [Damage("manifest.json", problem) for problem in missing_parts(manifest)]
    headers: dict[str, ShardHeader] = {}
    for file in manifest.files:
        try:
            headers[file.name] = stream(file, source, advance)
        except CheckpointError as error:
            damaged.append(Damage(file.name, str(error)))
    if not damaged:
        damaged.extend(check_content(manifest, headers))
    return damaged


def stream(
    file: CheckpointFile, source: ShardSource, advance: Advance, keep: Keep | None = None
) -> ShardHeader:
    """Read one shard, check all of it, and return its header.

    Raises:
        CheckpointError: It is missing, or not what the manifest says, or cannot be parsed.
        StorageError: The store does not answer.
        OSError: The same of a disk.
    """
    size = source.size(file.name)
    if size is None:
        raise CheckpointError("it is missing")
    if size != file.bytes:  # before any memory or disk is taken for it
        raise CheckpointError(f"it has {size} bytes, and the manifest says {file.bytes}")
    room = memoryview(bytearray(min(WINDOW_BYTES, file.bytes)))
    digest, head = blake3(max_threads=1), bytearray()
    for begin in range(0, file.bytes, WINDOW_BYTES):
        data = room[: min(WINDOW_BYTES, file.bytes - begin)]
        try:
            source.read(file.name, begin, data)
        except ObjectMissing as error:
            raise CheckpointError("it went missing while it was read") from error
        _check_window(file, begin, data)
        for chunk in chunks(data):
            digest.update(chunk)
        _collect_header(head, data)
        if keep is not None:
            keep(data)
        advance(len(data))
    if digest.hexdigest() != file.blake3:
        raise CheckpointError("its bytes are not those that were written (BLAKE3)")
    return ShardHeader.parse(memoryview(head), file.bytes)


def check_content(manifest: CheckpointManifest, headers: Mapping[str, ShardHeader]) -> Iterator[Damage]:
    """Whether the outlines name only tensors that are there, and hold a model and an optimiser."""
    common = [headers[file.name] for file in manifest.common]
    names = {name for header in common for name in header.tensors}
    first = manifest.common[0].name
    if len(names) != sum(len(header.tensors) for header in common):
        yield Damage(first, "a tensor stands in two pieces")
    try:
        tree = assemble(common[0].tree, _lookup(names))
        if not isinstance(tree, dict) or not {"model", "optimizer"} <= set(tree):
            yield Damage(first, "it does not hold a model and an optimizer")
    except CheckpointError as error:
        yield Damage(first, str(error))
    for name, header in headers.items():
        if name.startswith("rank-"):
            try:
                assemble(header.tree, _lookup(set(header.tensors)))
            except CheckpointError as error:
                yield Damage(name, str(error))


def _check_window(file: CheckpointFile, begin: int, data: memoryview) -> None:
    first = begin // CHUNK_BYTES
    for index, found in enumerate(checksums(data), start=first):
        if found != file.crc32c[index]:
            raise CheckpointError(
                f"its bytes from {index * CHUNK_BYTES} on are not those that were written (CRC32C)"
            )


def _collect_header(head: bytearray, data: memoryview) -> None:
    """Keep the file's beginning up to the end of its header."""
    if len(head) < LENGTH_BYTES:
        head += data[: LENGTH_BYTES - len(head)]
        data = data[len(head) :]
    wanted = min(header_bytes(memoryview(head)), LENGTH_BYTES + LONGEST_HEADER) - len(head)
    if wanted > 0:
        head += data[:wanted]


def _lookup(names: set[str]) -> Callable[[str], Any]:
    def tensor(name: str) -> Any:
        if name not in names:
            raise KeyError(name)

    return tensor
