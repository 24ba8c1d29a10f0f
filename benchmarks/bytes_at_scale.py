"""Bytes that one rank sends in a step, from 2 to 1,024 ranks: compressors, a dense ring, a naive all-gather.

    python benchmarks/bytes_at_scale.py [--json FILE]

By the formulas that the session checks at every bucket and a test holds against the kernel's counter, for a
model of GPT-2's shapes. The naive peer is what top-k is often built as: an all-gather of (int32, fp32) pairs.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from contract import write_results
from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table

from seedance_ops.training.compression.config import CompressionConfig
from seedance_ops.training.compression.factory import make_reduction
from seedance_ops.training.compression.local_updates import mean_step_bytes

RANKS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
WIDTH, LAYERS, VOCABULARY, CONTEXT, BYTES_PER_PAIR = 768, 12, 50257, 1024, 8
BLOCK = [
    *([WIDTH], [WIDTH], [WIDTH, 3 * WIDTH], [3 * WIDTH], [WIDTH, WIDTH], [WIDTH]),
    *([WIDTH], [WIDTH], [WIDTH, 4 * WIDTH], [4 * WIDTH], [4 * WIDTH, WIDTH], [WIDTH]),
]
SHAPES = [[VOCABULARY, WIDTH], [CONTEXT, WIDTH], *(BLOCK * LAYERS), [WIDTH], [WIDTH]]
K_RATIO = 0.01
EXCHANGE_EVERY = 7
COMPRESSORS: dict[str, dict[str, object]] = {
    "dense": {"algorithm": "dense"},
    "bf16": {"algorithm": "bf16"},
    "powersgd": {"algorithm": "powersgd"},
    "quantized_5": {"algorithm": "quantized_error_feedback"},
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
    if chosen.json:
        write_results(chosen.json, "bytes_at_scale", results)


if __name__ == "__main__":
    main()
