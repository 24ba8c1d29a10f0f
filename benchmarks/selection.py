"""What choosing and packing a row's largest elements costs, and how much of their energy it finds.

    python benchmarks/selection.py [--quick] [--json FILE]

Nanoseconds per element, on one thread, for rows of 100,000 and 6.5 million elements of three distributions,
with 0.1, 1 and 5 % of them sent. Ours selects, packs and subtracts what it sent from the row. Every peer does
all three as well: torch.topk and numpy.argpartition with plain int32 indices and fp32 values, and torch.topk
with the same bytes as ours. All take turns on the same rows. Energy is the sum of squares of the elements
selected, as a share of that of the exact top k.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch
from contract import write_results
from rich.console import Console
from rich.table import Table

from seedance_ops.training.compression.sparse_layout import entries_for, sparse_layout
from seedance_ops.training.compression.sparse_rows import SparseRows, decode_anywhere, encode_anywhere

SIZES = (100_000, 6_500_000)
K_RATIOS = (0.01, 0.001, 0.05)
DISTRIBUTIONS = ("gaussian", "laplace", "student_t3")
METRIC = "select_and_pack_ns_per_element"
GOAL_SPEED_UP = 5.0
GOAL_ENERGY = 0.98
AT = 0.01
"""The share of elements that the goals are about."""
SEED = 5


@dataclass(frozen=True)
class Case:
    """One row and how many of its elements are sent."""

    size: int
    k_ratio: float
    distribution: str

    @property
    def suffix(self) -> str:
        """Empty for the case that stands for all: the large Gaussian row at 1 %."""
        if (self.size, self.k_ratio, self.distribution) == (SIZES[-1], AT, DISTRIBUTIONS[0]):
            return ""
        return f"_{self.size}_{self.k_ratio:g}_{self.distribution}"

    def row(self) -> torch.Tensor:
        """Float32 ``[1, size]``."""
        generator = np.random.default_rng(SEED)
        drawn = {
            "gaussian": generator.standard_normal,
            "laplace": lambda size: generator.laplace(size=size),
            "student_t3": lambda size: generator.standard_t(3, size),
        }[self.distribution](self.size)
        return torch.tensor(drawn, dtype=torch.float32).view(1, -1)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="three rounds instead of 15")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    torch.set_num_threads(1)
    results = [
        found
        for case in itertools.starmap(Case, itertools.product(SIZES, K_RATIOS, DISTRIBUTIONS))
        for found in measure(case, rounds=3 if chosen.quick else 15)
    ]
    show(results)
    if chosen.json:
        versions = {"torch": torch.__version__, "numpy": np.__version__, "numba": numba.__version__}
        write_results(chosen.json, "selection", results, threads=1, **versions)
    return 0


def ours(row: torch.Tensor, k_ratio: float) -> torch.Tensor:
    return SparseRows(k_ratio).encode(row)


def torch_topk(row: torch.Tensor, k_ratio: float) -> torch.Tensor:
    flat = row[0]
    indices = torch.topk(flat.abs(), entries_for(len(flat), k_ratio), sorted=False).indices
    return plain(flat, indices)


def torch_topk_same_bytes(row: torch.Tensor, k_ratio: float) -> torch.Tensor:
    return encode_anywhere(row, sparse_layout(row.shape[1], k_ratio, "bf16"))


def numpy_argpartition(row: torch.Tensor, k_ratio: float) -> torch.Tensor:
    flat = row[0]
    first = len(flat) - entries_for(len(flat), k_ratio)
    return plain(flat, torch.from_numpy(np.argpartition(np.abs(flat.numpy()), first)[first:]))


def plain(flat: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Int32 indices and the bits of fp32 values; nothing is left of them in the row."""
    packed = torch.cat([indices.to(torch.int32), flat[indices].view(torch.int32)])
    flat.index_fill_(0, indices, 0.0)
    return packed


PEERS: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "torch_topk": torch_topk,
    "torch_topk_same_bytes": torch_topk_same_bytes,
    "numpy_argpartition": numpy_argpartition,
}


def measure(case: Case, *, rounds: int) -> Iterator[dict[str, Any]]:
    """Times of all, in turn in each round, and the energy that ours selects."""
    row = case.row()
    programs = {"ours": ours, **PEERS}
    times: dict[str, list[float]] = {name: [] for name in programs}
    # Round 0 loads and compiles.
    for round_ in range(rounds + 1):
        for name, program in programs.items():
            work = row.clone()
            start = time.perf_counter()
            program(work, case.k_ratio)
            if round_ > 0:
                times[name].append((time.perf_counter() - start) / case.size * 1e9)
    yield result(f"{METRIC}{case.suffix}", "ns", times, case)
    yield {
        "metric": f"energy_share_of_exact{case.suffix}",
        "unit": "share",
        "ours": energy_share(row, case.k_ratio),
        "peers": {"torch_topk": 1.0},
        "ratio_to_best_peer": energy_share(row, case.k_ratio),
        "n": 1,
    }


def energy_share(row: torch.Tensor, k_ratio: float) -> float:
    """Energy of the elements that ours selects ÷ that of as many largest ones."""
    layout = sparse_layout(row.shape[1], k_ratio, "bf16")
    indices, _ = decode_anywhere(ours(row.clone(), k_ratio), layout)
    energies = row[0].double().square()
    return float(energies[indices[0]].sum() / torch.topk(energies, layout.entries).values.sum())


def result(name: str, unit: str, times: dict[str, list[float]], case: Case) -> dict[str, Any]:
    medians = {who: statistics.median(values) for who, values in times.items()}
    quartiles = {who: np.quantile(values, [0.25, 0.75]).tolist() for who, values in times.items()}
    mine = medians.pop("ours")
    return {
        "metric": name,
        "unit": unit,
        "ours": mine,
        "peers": medians,
        "ratio_to_best_peer": mine / min(medians.values()),
        "speed_up_over_torch_topk": medians["torch_topk"] / mine,
        "spread": quartiles.pop("ours"),
        "peers_spread": quartiles,
        "n": len(times["ours"]),
        "elements": case.size,
        "k_ratio": case.k_ratio,
        "distribution": case.distribution,
    }


def show(results: list[dict[str, Any]]) -> None:
    table = Table(title="selection and packing, ns per element on one thread: medians and quartiles")
    columns = ("elements", "k", "row", "ours", "quartiles", *PEERS, "faster than topk", "energy")
    for column in columns:
        table.add_column(column, justify="right")
    timed, energies = results[::2], results[1::2]
    for found, energy in zip(timed, energies, strict=True):
        low, high = found["spread"]
        table.add_row(
            f"{found['elements']:,}",
            f"{found['k_ratio']:.1%}",
            found["distribution"],
            f"{found['ours']:.2f}",
            f"{low:.2f} … {high:.2f}",
            *(f"{found['peers'][peer]:.1f}" for peer in PEERS),
            f"{found['speed_up_over_torch_topk']:.1f} ×",
            f"{energy['ours']:.2%}",
        )
    console = Console(width=150)
    console.print(table)
    pairs = list(zip(timed, energies, strict=True))
    at_goal = [pair for pair in pairs if pair[0]["k_ratio"] == AT]
    slowest = min(found["speed_up_over_torch_topk"] for found, _ in at_goal)
    least = min(energy["ours"] for _, energy in at_goal)
    console.print(
        f"at {AT:.0%}: at least {slowest:.1f} × faster than torch.topk (goal {GOAL_SPEED_UP:g} ×), "
        f"at least {least:.2%} of the exact energy (goal {GOAL_ENERGY:.0%})"
    )


if __name__ == "__main__":
    sys.exit(main())
