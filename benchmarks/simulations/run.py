"""The benchmark ``statistics``: runs the simulations, prints their tables, writes their JSON."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from contract import write_results
from rich.console import Console
from rich.table import Table

from simulations.gates import PATHS, multi_variant_error, planned_power, type_one_error
from simulations.judging import judged_together
from simulations.speed import BATCH, bootstrap_seconds
from simulations.studies import TRUTHS, Estimand, Rates, coverage

SIZES = (5, 10, 30)
COVERAGES: tuple[tuple[str, str, Estimand], ...] = (
    ("coverage_normal", "normal", "difference"),
    ("coverage_lognormal", "lognormal", "ratio"),
    ("coverage_lognormal_difference", "lognormal", "difference"),
    ("coverage_normal_level", "normal", "level"),
    ("coverage_lognormal_level", "lognormal", "level"),
)
"""Metric, distribution, estimand: the default first, then where it falls short."""


@dataclass(frozen=True)
class Repetitions:
    """How many studies of each kind."""

    coverage: int
    peers: int
    """Of those, how many the peers judge too."""
    gates: int
    speed: int


FULL = Repetitions(coverage=10_000, peers=2_000, gates=10_000, speed=30)
QUICK = Repetitions(coverage=400, peers=60, gates=400, speed=5)


def main(description: str | None) -> int:
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true", help="few studies: shows that it works, no more")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    repetitions = QUICK if chosen.quick else FULL
    console = Console()
    began = time.perf_counter()
    results = []
    for title, produced in (
        ("95 % intervals: share of studies in which they hold the truth", coverages(repetitions)),
        (
            "gates: share of studies in which one passes that must not, at the edge of its bound",
            errors(repetitions),
        ),
        ("gates: share of studies of the planned size in which they pass", powers(repetitions)),
        ("percentile bootstrap, 1,000 resamples, seconds", speeds(repetitions)),
    ):
        part = list(produced)
        console.print(table_of(title, part))
        results += part
    console.print(f"{time.perf_counter() - began:.0f} s")
    if chosen.json:
        write_results(chosen.json, "statistics", results)
    return 0


def coverages(repetitions: Repetitions) -> Iterator[dict[str, object]]:
    for metric, distribution, estimand in COVERAGES:
        for n in SIZES:
            truth, peers = TRUTHS[distribution], repetitions.peers
            rates = coverage(truth, estimand, n, repetitions.coverage, seed=n, peers=peers)
            yield result_of(f"{metric}_n{n}", rates, aim=0.95)


def errors(repetitions: Repetitions) -> Iterator[dict[str, object]]:
    for name, path in PATHS.items():
        rates = type_one_error(path, 10, repetitions.gates, seed=1)
        yield result_of(f"type_one_error_{name}", rates, aim=0.05)
    rates = multi_variant_error(10, repetitions.gates // 2, seed=1)
    yield result_of("type_one_error_multi_variant_holm", rates, aim=0.05)
    rates = judged_together(10, repetitions.gates // 10, seed=1)
    yield result_of("type_one_error_judged_multi_variant", rates, aim=0.05)


def powers(repetitions: Repetitions) -> Iterator[dict[str, object]]:
    for name, path in PATHS.items():
        if path.demand is None:
            continue
        plan, rates = planned_power(path, repetitions.gates // 2, seed=2)
        result = result_of(f"power_{name}", rates, aim=plan.power)
        peers = {"planned": plan.power}
        yield result | {"peers": peers, "ratio_to_best_peer": rates.ours.value / plan.power}


def speeds(repetitions: Repetitions) -> Iterator[dict[str, object]]:
    cases = [(f"bootstrap_s_n{n}", n, BATCH) for n in SIZES[:-1]]
    for metric, n, batch in (*cases, ("bootstrap_s", SIZES[-1], BATCH), ("bootstrap_s_alone", SIZES[-1], 1)):
        took = bootstrap_seconds(n, repetitions.speed, batch)
        medians = {name: float(np.median(seconds)) for name, seconds in took.items()}
        ours = medians.pop("ours")
        yield {
            "metric": metric,
            "unit": "s",
            "ours": ours,
            "peers": medians,
            "ratio_to_best_peer": ours / min(medians.values()),
            "spread": np.percentile(took["ours"], [25, 75]).tolist(),
            "n": repetitions.speed,
        }


def result_of(metric: str, rates: Rates, *, aim: float) -> dict[str, object]:
    """One line of the results; the best peer is the one nearest to ``aim``."""
    peers = {name: share.value for name, share in rates.peers.items()}
    best = min(peers.values(), key=lambda value: abs(value - aim), default=None)
    return {
        "metric": metric,
        "unit": "share of studies",
        "ours": rates.ours.value,
        "peers": peers,
        "ratio_to_best_peer": rates.ours.value / best if best else None,
        "spread": list(rates.ours.interval()),
        "n": rates.ours.studies,
    }


def table_of(title: str, results: list[dict[str, object]]) -> Table:
    table = Table(title=title)
    for column in ("metric", "ours", "spread", "n", "peers"):
        table.add_column(column, justify="left" if column in {"metric", "peers"} else "right")
    for row in results:
        text = "{:.2e}" if row["unit"] == "s" else "{:.3f}"
        low, high = row["spread"]
        peers = ", ".join(f"{name} {text.format(value)}" for name, value in row["peers"].items())
        table.add_row(
            str(row["metric"]),
            text.format(row["ours"]),
            f"{text.format(low)} … {text.format(high)}",
            str(row["n"]),
            peers,
        )
    return table
