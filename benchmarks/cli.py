"""How long ``validate``, ``schema`` and ``list`` take, against Airflow's own command line doing nothing.

    python benchmarks/cli.py [--quick] [--json FILE]

A person waits for these at every edit. The peer is ``airflow version``, which any check built on importing
Airflow must at least wait for. Whole processes, interleaved; medians and quartiles.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from contract import write_results
from rich.console import Console
from rich.table import Table

OURS = {
    "validate_s": ["validate", "include/jobs/char_gpt.yaml"],
    "schema_s": ["schema", "TrainingJob"],
    "list_s": ["list"],
}
BIN = Path(sys.executable).parent


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="three repeats instead of eleven")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    repeats = 3 if chosen.quick else 11
    took: dict[str, list[float]] = {name: [] for name in (*OURS, "airflow version")}
    for _ in range(repeats):
        for name, arguments in OURS.items():
            took[name].append(seconds([str(BIN / "seedance"), *arguments]))
        took["airflow version"].append(seconds([str(BIN / "airflow"), "version"]))
    results = [result(name, took[name], took["airflow version"]) for name in OURS]
    show(took)
    if chosen.json:
        write_results(chosen.json, "cli", results)
    return 0


def seconds(command: list[str]) -> float:
    """Wall time of one whole process."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def result(name: str, ours: list[float], peer: list[float]) -> dict[str, object]:
    median, best_peer = statistics.median(ours), statistics.median(peer)
    return {
        "metric": name,
        "unit": "s",
        "ours": median,
        "peers": {"airflow_version": best_peer},
        "ratio_to_best_peer": median / best_peer,
        "spread": statistics.quantiles(ours, n=4)[::2],
        "n": len(ours),
    }


def show(took: dict[str, list[float]]) -> None:
    table = Table(title="whole processes, seconds")
    for column in ("command", "median", "quartiles", "n"):
        table.add_column(column, justify="right")
    for name, values in took.items():
        low, _, high = statistics.quantiles(values, n=4)
        table.add_row(name, f"{statistics.median(values):.2f}", f"{low:.2f} … {high:.2f}", str(len(values)))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
