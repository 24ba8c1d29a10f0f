"""Processor time of a client that uploads to an S3-compatible server: ours, and boto3's as it comes."""

from __future__ import annotations

import io
import mmap
import os
import resource
from collections.abc import Callable
from pathlib import Path

from checkpoint_study.state import MIB
from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.connection import connect
from seedance_ops.storage.server import EmbeddedStore

GIB = 1 << 30


def client_cpu_s_per_gib(folder: Path, mib: int, rounds: int) -> dict[str, list[float]]:
    """By client, of every round; the server is another process, on this machine."""
    server = EmbeddedStore(folder / "store")
    record = server.up()
    try:
        os.environ.update(record.environment())
        location = StorageLocation(uri="s3://benchmark/run", endpoint_url=record.endpoint_url)
        store, client = ObjectStore(location), connect(location)
        store.ensure_bucket()
        data = memoryview(mmap.mmap(-1, mib * MIB))
        for begin in range(0, len(data), MIB):
            data[begin : begin + MIB] = os.urandom(MIB)
        found: dict[str, list[float]] = {"seedance": [], "boto3": []}
        store.put_buffer("warm", data[:MIB])
        for _ in range(rounds):
            ours = _cpu_s(lambda: store.put_buffer("ours", data))
            theirs = _cpu_s(lambda: client.upload_fileobj(io.BytesIO(data), "benchmark", "theirs"))
            found["seedance"].append(ours * GIB / len(data))
            found["boto3"].append(theirs * GIB / len(data))
        return found
    finally:
        server.down()


def _cpu_s(call: Callable[[], object]) -> float:
    before = _used_s()
    call()
    return _used_s() - before


def _used_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
