"""What the disk takes and gives when nothing but large requests past the page cache goes to it."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checkpoint_study.state import MIB

REQUEST_BYTES = 8 * MIB
QUEUE_DEPTHS = (4, 8)


def limits_ms(folder: Path, mib: int, depth: int) -> dict[str, float]:
    """Milliseconds to write, with one sync at the end, and to read a file of this size with O_DIRECT."""
    path = folder / "probe"
    path.unlink(missing_ok=True)
    buffer = memoryview(mmap.mmap(-1, REQUEST_BYTES))
    buffer[:] = os.urandom(REQUEST_BYTES)
    places = range(0, mib * MIB, REQUEST_BYTES)

    def run(flags: int, request: Callable[[int, int], object], *, sync: bool) -> float:
        file = os.open(path, flags | os.O_DIRECT, 0o644)
        began = time.perf_counter()
        with ThreadPoolExecutor(depth) as threads:
            list(threads.map(lambda at: request(file, at), places))
        if sync:
            os.fsync(file)
        took_ms = (time.perf_counter() - began) * 1e3
        os.close(file)
        return took_ms

    targets = [memoryview(mmap.mmap(-1, REQUEST_BYTES)) for _ in range(depth)]

    def read(file: int, at: int) -> None:
        target = targets.pop()
        os.preadv(file, [target], at)
        targets.append(target)

    found = {
        "write": run(os.O_WRONLY | os.O_CREAT, lambda file, at: os.pwrite(file, buffer, at), sync=True),
        "read": run(os.O_RDONLY, read, sync=False),
    }
    path.unlink()
    return found
