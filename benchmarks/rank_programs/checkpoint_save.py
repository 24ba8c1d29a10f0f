"""One process of ``benchmarks/checkpoint.py``: one way to save, what it costs training, and reading back."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checkpoint_study.methods import Method, make_method
from checkpoint_study.state import MIB, model_and_optimizer

QUIET_STEPS = 15
SAMPLE_S = 0.02


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--method", required=True)
    options.add_argument("--mib", type=int, required=True)
    options.add_argument("--folder", type=Path, required=True)
    options.add_argument("--rounds", type=int, required=True)
    options.add_argument("--memory", action="store_true")
    chosen = options.parse_args()
    # torch's saver process makes a group of its own from these.
    os.environ.update(MASTER_ADDR="127.0.0.1", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    os.environ["MASTER_PORT"] = str(free_port())
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model, optimizer = model_and_optimizer(chosen.mib)
    method = make_method(chosen.method, model, optimizer, chosen.folder)
    if chosen.memory:
        print(json.dumps(memory(method, chosen.mib)))
    else:
        print(json.dumps(times(method, chosen.folder, chosen.rounds)))
    sys.stdout.flush()
    os._exit(0)  # torch's saver process would be waited for


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def times(method: Method, folder: Path, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every round; the first save is not counted, since it allocates."""
    step = training_step()
    save_alone(method)
    found: dict[str, list[float]] = {"stall": [], "slowdown": [], "durable": [], "alone": [], "read": []}
    for _ in range(rounds):
        quiet = [timed_ms(step) for _ in range(QUIET_STEPS)]
        began = time.perf_counter()
        found["stall"].append(timed_ms(method.save))
        beside = []
        while not method.finished():
            beside.append(timed_ms(step))
        method.wait()
        found["durable"].append((time.perf_counter() - began) * 1e3)
        quiet += [timed_ms(step) for _ in range(QUIET_STEPS)]
        # What the last step lost may have been lost after the end of the save; that is noise, both ways.
        found["slowdown"].append(max(0.0, sum(beside) - len(beside) * float(np.median(quiet))))
        found["alone"].append(save_alone(method))
        drop_from_cache(folder)
        found["read"].append(timed_ms(method.load))
    return found


def save_alone(method: Method) -> float:
    """Until durable, with nothing beside it; without the stall, in ms."""
    method.save()
    return timed_ms(method.wait)


def training_step() -> Callable[[], object]:
    """Some tens of milliseconds on all cores, which is what training on this machine would take."""
    left, right = torch.rand(1024, 1024), torch.rand(1024, 1024)
    return lambda: [left @ right for _ in range(2)]


def timed_ms(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


def drop_from_cache(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def memory(method: Method, mib: int) -> dict[str, float]:
    """The most memory that three saves take beyond what was there, of this process and its children."""
    before, peak, done = resident_mib(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(SAMPLE_S):
            peak = max(peak, resident_mib())

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(3):
        save_alone(method)
    done.set()
    watcher.join()
    return {"extra_memory_share": max(0.0, peak - before) / mib}


def resident_mib() -> float:
    """What the processes share is counted once."""
    own = psutil.Process()
    total = 0
    for process in (own, *own.children(recursive=True)):
        try:
            total += process.memory_full_info().pss
        except psutil.Error:
            continue
    return total / MIB


if __name__ == "__main__":
    main()
