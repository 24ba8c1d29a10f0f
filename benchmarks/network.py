"""What the network laboratory gives: the rate of its links, their latency, and what their counters count.

    python benchmarks/network.py [--quick] [--json FILE]

Two ranks on an unshaped link and on links of 1000, 200 and 50 Mbit/s. Ours is what arrives in the laboratory:
a plain socket stream, and gloo's all-reduce. Peers: iperf3 over the same link where it is installed; for the
all-reduce the plain stream; for the unshaped link and for latency, the same program over loopback, outside.
Needs root; says so, and measures nothing, without.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from contract import write_results
from rich.console import Console
from rich.table import Table

from seedance_ops.netlab.environment import SHARED_MACHINE, rank_environment
from seedance_ops.netlab.errors import LabNotPossible
from seedance_ops.netlab.lab import NetworkLab
from seedance_ops.netlab.plan import address_of
from seedance_ops.netlab.possible import require_lab
from seedance_ops.netlab.ranks import RankProcesses

LINKS: dict[str, float | None] = {"unshaped": None, "1000": 1000, "200": 200, "50": 50}
PROGRAM = Path(__file__).parent / "rank_programs/network.py"
ON_ETHERNET = 1514 / 1448
"""Bytes on a link per byte of TCP payload, with packets of 1,500 B (RFC 894) and time stamps (RFC 7323)."""
TIMEOUT_S = 120
Found = dict[str, list[float]]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="one round of short streams instead of five")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    results: list[dict[str, Any]] = []
    try:
        require_lab()
    except LabNotPossible as missing:
        print(f"not measured: {missing}", file=sys.stderr)
    else:
        results = measure(rounds=1 if chosen.quick else 5, seconds=0.2 if chosen.quick else 0.5)
        show(results)
    if chosen.json:
        write_results(chosen.json, "network", results)
    return 0


def measure(*, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Every link, every peer, in each round; streams as long as ``seconds`` at the nominal rate."""
    ours: dict[str, Found] = {link: {} for link in LINKS}
    outside: Found = {}
    iperf3: dict[str, list[float]] = {link: [] for link in LINKS}
    for _ in range(rounds):
        for link, mbit in LINKS.items():
            payload_bytes = 4 * round((mbit or 4000) * 1e6 / 8 * seconds / 4)
            with NetworkLab(ranks=2, mbit=mbit) as lab:
                run = lab.torchrun([str(PROGRAM), str(payload_bytes), "3"], timeout_s=TIMEOUT_S)
                if run.exit_code != 0:
                    raise SystemExit(run.ranks[run.failed_first or 0].stderr)
                take(run.ranks[0].stdout, ours[link])
                if shutil.which("iperf3"):
                    iperf3[link] += [iperf3_mbit(lab, payload_bytes) for _ in range(3)]
        take(over_loopback(4 * round(4e9 / 8 * seconds / 4)), outside)
    return list(results_of(ours, outside, iperf3))


def over_loopback(payload_bytes: int) -> str:
    """The same program on this machine's own loopback, without a laboratory."""
    loopback = {"MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo", "TP_SOCKET_IFNAME": "lo"}
    with RankProcesses() as processes:
        for rank in range(2):
            environment = {**SHARED_MACHINE, **os.environ, **rank_environment(rank, 2), **loopback}
            processes.start([sys.executable, str(PROGRAM), str(payload_bytes), "3"], environment)
        failed = processes.wait(TIMEOUT_S)
        outcomes = processes.outcomes()
    if failed is not None:
        raise SystemExit(outcomes[failed].stderr)
    return outcomes[0].stdout


def iperf3_mbit(lab: NetworkLab, payload_bytes: int) -> float:
    """What iperf3's receiver saw from rank 0 to rank 1.

    With ``-J`` iperf3 3.12 exits with 0 where the server does not listen yet, so its answer is looked at.
    """
    client = f"found=$(iperf3 -J -n {payload_bytes} -c {address_of(1)})"
    until_it_answers = (
        f'until {client}; echo "$found" | grep -q sum_received; do sleep 0.05; done; echo "$found"'
    )
    commands = (["sh", "-c", until_it_answers], ["iperf3", "-s", "-1"])
    run = lab.run(lambda rank: commands[rank], timeout_s=TIMEOUT_S)
    return float(json.loads(run.ranks[0].stdout)["end"]["sum_received"]["bits_per_second"]) / 1e6


def take(printed: str, into: Found) -> None:
    for found in json.loads(printed):
        for name, value in found.items():
            into.setdefault(name, []).append(value)


def results_of(
    ours: dict[str, Found], outside: Found, iperf3: dict[str, list[float]]
) -> Iterator[dict[str, Any]]:
    """Every metric, its peers, and which of them is best."""
    for link, mbit in LINKS.items():
        found = ours[link]
        peers = {"iperf3": iperf3[link]} if iperf3[link] else {}
        if mbit is None:
            peers["loopback"] = outside["throughput_mbit"]
        yield result(f"throughput_mbit_{link}", "Mbit/s", found["throughput_mbit"], peers, nominal=mbit)
        peers = {"plain_socket": found["throughput_mbit"]}
        yield result(f"all_reduce_mbit_{link}", "Mbit/s", found["all_reduce_mbit"], peers, nominal=mbit)
        peers = {"loopback": outside["small_all_reduce_us"]}
        yield result(f"small_all_reduce_us_{link}", "us", found["small_all_reduce_us"], peers, best=min)
    overheads, payloads = [], []
    for found in ours.values():
        overheads += found["interface_bytes_per_payload_byte"]
        payloads += found["counted_payload_per_payload_byte"]
    yield result(
        "interface_overhead", "bytes per payload byte", overheads, {"ethernet": [ON_ETHERNET]}, best=min
    )
    yield result("counted_payload", "bytes per payload byte", payloads, {"exact": [1.0]}, best=min)


def result(
    name: str,
    unit: str,
    values: list[float],
    peers: Found,
    *,
    best: Callable[[Iterable[float]], float] = max,
    nominal: float | None = None,
) -> dict[str, Any]:
    median = float(np.median(values))
    medians = {peer: float(np.median(theirs)) for peer, theirs in peers.items()}
    return {
        "metric": name,
        "unit": unit,
        "ours": median,
        "peers": medians,
        "ratio_to_best_peer": median / best(medians.values()) if medians else None,
        "spread": [float(value) for value in np.quantile(values, [0.25, 0.75])],
        "n": len(values),
        "nominal": nominal,
    }


def show(results: list[dict[str, Any]]) -> None:
    table = Table(title="two ranks in the network laboratory: medians and quartiles")
    for column in ("metric", "ours", "quartiles", "nominal", "peers", "n"):
        table.add_column(column, justify="right")
    for found in results:
        low, high = found["spread"]
        peers = ", ".join(f"{name} {value:.4g}" for name, value in found["peers"].items())
        nominal = "" if found["nominal"] is None else f"{found['nominal']:g}"
        quartiles = f"{low:.4g} … {high:.4g}"
        table.add_row(
            str(found["metric"]), f"{found['ours']:.4g}", quartiles, nominal, peers, str(found["n"])
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    sys.exit(main())
