"""What a checkpoint costs training, and how much of the disk's limit it reaches, beside torch's own ways.

    python benchmarks/checkpoint.py [--quick] [--sizes MIB …] [--rounds N] [--folder DIR] [--json FILE]

Each way saves a state of parameters and AdamW's moments to the local disk, durably: file and folder are
synced. **Stall** is how long the call holds training up; **slowdown** is what the steps beside the
background write take beyond their quiet median, where they use all cores in full. **Durable** is measured
again with nothing beside it, from the end of the stall (for a synchronous way: all of it), and is set
against the disk's limit: requests of 8 MiB past the page cache, the best of queue depths 4 and 8, probed in
every round. **Read** is what brings the state into memory after the cache was dropped; ours is checked on
the way. **Memory** is the peak beyond what was there before the first save, shared pages counted once.
Last, the client's processor time for an upload to an S3-compatible server. The ways take turns, each in a
process of its own; one that by the memory it took at 64 MiB would not fit is left out and named.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from checkpoint_study.limits import QUEUE_DEPTHS, limits_ms
from checkpoint_study.methods import ASYNC_PEERS, METHODS, OURS
from checkpoint_study.upload import client_cpu_s_per_gib
from contract import write_results
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

PROGRAM = Path(__file__).resolve().parent / "rank_programs/checkpoint_save.py"
NAMES = {64: "64mib", 512: "512mib", 4096: "4gib"}
UPLOAD_MIB = 256
SYNCHRONOUS = frozenset({"torch.save", "safetensors", "dcp_sync"})
GOALS = {
    "stall": "stall + slowdown ≤ 1/4 of the best asynchronous DCP",
    "durable": "durable ≥ 85 % of the disk's limit",
    "restore": "restore ≥ 80 % of the disk's limit",
    "memory": "extra memory ≤ 1 × the state",
    "cpu": "client's processor time ≤ 1/2 of boto3's",
}

Times = dict[str, dict[str, list[float]]]


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true", help="64 MiB to the local disk alone")
    options.add_argument("--sizes", type=int, nargs="+", choices=sorted(NAMES), default=[64, 512, 4096])
    options.add_argument("--rounds", type=int, default=3, help="processes of each way, three saves each")
    options.add_argument("--folder", type=Path, help="on the disk that is measured; default: a temporary one")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    results: list[dict[str, Any]] = []
    memory: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=chosen.folder, prefix="seedance-checkpoints-") as name:
        folder = Path(name)
        for mib in [64] if chosen.quick else chosen.sizes:
            methods = those_that_fit(mib, memory)
            times, memory = measure(mib, methods, 1 if chosen.quick else chosen.rounds, folder)
            show(mib, times, memory)
            results += results_of(NAMES[mib], times, memory)
        if not chosen.quick:
            used = client_cpu_s_per_gib(folder, UPLOAD_MIB, chosen.rounds)
            results.append(result("client_cpu_s_per_gib", "s/GiB", used, "boto3"))
    for line in verdicts(results):
        Console(width=120).print(line)
    if chosen.json:
        write_results(chosen.json, "checkpoint", results, torch=torch.__version__)
    return 0


def those_that_fit(mib: int, memory: dict[str, float]) -> list[str]:
    """The ways whose state and extra memory, as measured at a smaller size, this machine has."""
    free_mib = psutil.virtual_memory().available / 2**20
    too_large = [method for method in METHODS if mib * (1 + memory.get(method, 0)) > 0.9 * free_mib]
    for method in too_large:
        print(f"{mib} MiB: {method} is left out, it takes {memory[method]:.1f} × the state more memory")
    return [method for method in METHODS if method not in too_large]


def measure(mib: int, methods: list[str], rounds: int, folder: Path) -> tuple[Times, dict[str, float]]:
    """Milliseconds by way and kind, the limit's among them; and extra memory as a share of the state."""
    times: Times = defaultdict(lambda: defaultdict(list))
    memory: dict[str, float] = {}
    with Progress(transient=True) as progress:
        bar = progress.add_task(f"{mib} MiB", total=(rounds + 1) * len(methods))
        for round_ in range(rounds + 1):
            for method in methods:
                last = round_ == rounds
                found = save(method, mib, folder / "state", memory=last)
                if last:
                    memory[method] = found["extra_memory_share"]
                else:
                    for kind, values in found.items():
                        times[method][kind] += values
                    for depth in QUEUE_DEPTHS:
                        for kind, took_ms in limits_ms(folder, mib, depth).items():
                            times[f"limit, {depth} in flight"][kind].append(took_ms)
                progress.advance(bar)
    return times, memory


def save(method: str, mib: int, folder: Path, *, memory: bool) -> dict[str, Any]:
    """What one process of one way has measured."""
    folder.mkdir()
    command = [sys.executable, str(PROGRAM), "--method", method, "--mib", str(mib), "--rounds", "3"]
    command += ["--folder", str(folder), *(["--memory"] if memory else [])]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    shutil.rmtree(folder)
    if ran.returncode:
        raise SystemExit(f"{method}, {mib} MiB: {ran.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def results_of(size: str, times: Times, memory: dict[str, float]) -> Iterator[dict[str, Any]]:
    """The figures of one size, ours beside each peer's."""
    held_up = {
        method: (np.array(times[method]["stall"]) + np.array(times[method]["slowdown"])).tolist()
        for method in memory
    }
    best_async = min(
        (method for method in ASYNC_PEERS if method in memory),
        key=lambda method: float(np.median(held_up[method])),
    )
    yield result(f"stall_plus_slowdown_ms_{size}", "ms", held_up, best_async)
    for name, kind, limit in (("durable", "durable", "write"), ("restore", "read", "read")):
        limit_ms = min(float(np.median(times[f"limit, {depth} in flight"][limit])) for depth in QUEUE_DEPTHS)
        shares = {
            method: [limit_ms / value for value in durable_ms(times, method) if value]
            if kind == "durable"
            else [limit_ms / value for value in times[method]["read"]]
            for method in memory
        }
        best = max(
            (method for method in memory if method != OURS),
            key=lambda method: float(np.median(shares[method])),
        )
        yield result(f"{name}_share_of_limit_{size}", "share", shares, best)
    single = {method: [value] for method, value in memory.items()}
    yield result(f"extra_memory_share_{size}", "share", single, ASYNC_PEERS[0])


def durable_ms(times: Times, method: str) -> list[float]:
    """With nothing beside it: what a synchronous way stalls is its durable time, too."""
    return times[method]["stall" if method in SYNCHRONOUS else "alone"]


def result(name: str, unit: str, values: dict[str, list[float]], peer: str) -> dict[str, Any]:
    medians = {who: float(np.median(each)) for who, each in values.items()}
    spread = {who: np.quantile(each, [0.25, 0.75]).tolist() for who, each in values.items()}
    mine = medians.pop(OURS)
    return {
        "metric": name,
        "unit": unit,
        "ours": mine,
        "peers": medians,
        "best_peer": peer,
        "ratio_to_best_peer": mine / medians[peer] if medians[peer] else None,
        "spread": spread.pop(OURS),
        "peers_spread": spread,
        "n": len(values[OURS]),
    }


def show(mib: int, times: Times, memory: dict[str, float]) -> None:
    table = Table(title=f"{mib} MiB: medians in ms, first and third quartile in brackets")
    for column in (
        "way",
        "stall",
        "slowdown",
        "durable beside steps",
        "durable alone",
        "read back",
        "memory",
    ):
        table.add_column(column, justify="left" if column == "way" else "right")
    for method, extra in memory.items():
        found = times[method]
        cells = [
            found["stall"],
            found["slowdown"],
            found["durable"],
            durable_ms(times, method),
            found["read"],
        ]
        table.add_row(method, *map(_cell, cells), f"{extra:.2f} ×")
    for depth in QUEUE_DEPTHS:
        limit = times[f"limit, {depth} in flight"]
        table.add_row(
            f"limit, {depth} in flight", "", "", "", _cell(limit["write"]), _cell(limit["read"]), ""
        )
    Console(width=150).print(table)


def _cell(values: list[float]) -> str:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:,.0f} ({low:,.0f} … {high:,.0f})"


def verdicts(results: list[dict[str, Any]]) -> Iterator[str]:
    """Every goal, and what was measured."""
    for found in results:
        name, ours, ratio = found["metric"], found["ours"], found["ratio_to_best_peer"]
        if name.startswith("stall"):
            yield f"{name}: {ours:,.0f}, {ratio:.2f} × of {found['best_peer']} (goal: {GOALS['stall']})"
        elif name.startswith("durable"):
            yield f"{name}: {ours:.0%} (goal: {GOALS['durable']})"
        elif name.startswith("restore"):
            yield f"{name}: {ours:.0%} (goal: {GOALS['restore']})"
        elif name.startswith("extra"):
            yield f"{name}: {ours:.2f} (goal: {GOALS['memory']})"
        else:
            yield f"{name}: {ours:.2f} s, {ratio:.2f} × of boto3's (goal: {GOALS['cpu']})"


if __name__ == "__main__":
    sys.exit(main())
