"""Bytes that one rank sends in a step, from 2 to 1,024 ranks: compressors, a dense ring, a naive all-gather.

    python benchmarks/bytes_at_scale.py [--json FILE]

By the formulas that the session checks at every bucket and a test holds against the kernel's counter, for a
model of GPT-2's shapes. The naive peer is what top-k is often built as: an all-gather of (int32, fp32) pairs.
A second table has what leaves a node of eight ranks, with one level and with two.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path

from contract import write_results
from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table

from seedance_ops.training.compression.base import GradientReduction
from seedance_ops.training.compression.config import CompressionConfig
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.compression.local_updates import mean_step_bytes
from seedance_ops.training.compression.owner_reduce import OwnerReduce

RANKS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
WIDTH, LAYERS, VOCABULARY, CONTEXT, BYTES_PER_PAIR = 768, 12, 50257, 1024, 8
BLOCK = [
    *([WIDTH], [WIDTH], [WIDTH, 3 * WIDTH], [3 * WIDTH], [WIDTH, WIDTH], [WIDTH]),
    *([WIDTH], [WIDTH], [WIDTH, 4 * WIDTH], [4 * WIDTH], [4 * WIDTH, WIDTH], [WIDTH]),
]
SHAPES = [[VOCABULARY, WIDTH], [CONTEXT, WIDTH], *(BLOCK * LAYERS), [WIDTH], [WIDTH]]
NODES, PER_NODE = (2, 4, 16, 128), 8
K_RATIO = 0.01
EXCHANGE_EVERY = 7
COMPRESSORS: dict[str, dict[str, object]] = {
    "dense": {"algorithm": "dense"},
    "bf16": {"algorithm": "bf16"},
    "powersgd": {"algorithm": "powersgd"},
    "quantized": {"algorithm": "quantized_error_feedback"},
    "topk_1": {"algorithm": "topk_error_feedback", "k_ratio": K_RATIO},
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    configs = {name: TypeAdapter(CompressionConfig).validate_python(c) for name, c in COMPRESSORS.items()}
    reductions = {name: make_reduction(config) for name, config in configs.items()}
    table = Table(
        "ranks",
        *reductions,
        "local_7",
        "topk_1, all-gather",
        title="MB a rank sends in a step (share of dense)",
    )
    results = []
    for ranks in RANKS:
        sent = {name: one.declared_bytes(SHAPES, ranks) for name, one in reductions.items()}
        sent["local_7"] = mean_step_bytes(SHAPES, EXCHANGE_EVERY, ranks)
        sent["all_gather"] = (
            (ranks - 1) * BYTES_PER_PAIR * sum(math.ceil(K_RATIO * math.prod(s)) for s in SHAPES)
        )
        dense = sent["dense"]
        table.add_row(str(ranks), *(f"{b / 1e6:,.1f} ({b / dense:.1%})" for b in sent.values()))
        results.append(
            {
                "metric": f"bytes_per_step_{ranks}_ranks",
                "unit": "B",
                "ours": sent["topk_1"],
                "peers": sent,
                "n": 1,
            }
        )
    Console().print(table)
    results += print_levels(reductions)
    if chosen.json:
        write_results(chosen.json, "bytes_at_scale", results)


def print_levels(reductions: Mapping[str, GradientReduction]) -> list[dict[str, object]]:
    """What a rank sends to other nodes in a step, of compressors that have two levels."""
    table, results = Table(title=f"MB a rank sends to other nodes, {PER_NODE} ranks each"), []
    for column in ("nodes", "dense", "compressor", "one level", "two levels", "within the node"):
        table.add_column(column)
    for nodes in NODES:
        ranks = nodes * PER_NODE
        for name, reduction in reductions.items():
            if not isinstance(reduction, OwnerReduce):
                continue
            abroad = (ranks - PER_NODE) / (ranks - 1)  # of all the ranks that it sends to
            one = abroad * reduction.declared_bytes(SHAPES, ranks)
            two = reduction.bytes_by_level(SHAPES, nodes, PER_NODE)
            # A ring leaves a node over one of its ranks: an eighth of it each.
            dense = reductions["dense"].declared_bytes(SHAPES, ranks) / PER_NODE
            shown = (f"{sent / 1e6:,.2f}" for sent in (one, two.between, two.within))
            table.add_row(str(nodes), f"{dense / 1e6:,.1f}", name, *shown)
            results.append(
                {
                    "metric": f"bytes_between_nodes_{nodes}_nodes",
                    "compressor": name,
                    "unit": "B",
                    "ours": two.between,
                    "peers": {"one_level": round(one), "dense_ring": round(dense)},
                    "n": 1,
                }
            )
    Console().print(table)
    return results


if __name__ == "__main__":
    main()
