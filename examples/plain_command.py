"""A program that knows nothing of the pipeline, for ``runtime: none``: it estimates π at random.

What the pipeline learns of it is what it appends to the file that ``SEEDANCE_METRICS_FILE`` names: one JSON
object a line, with ``metric``, ``value`` and ``step``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import time
from pathlib import Path

DARTS_PER_STEP = 10_000


def main() -> None:
    """Throw darts for a number of steps, reporting the estimate's error after each."""
    parser = argparse.ArgumentParser(description="Estimate pi by throwing darts.")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--step-seconds", type=float, default=0.5, help="least time a step takes")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    darts = random.Random(args.seed)
    hits = 0
    for step in range(1, args.steps + 1):
        started = time.monotonic()
        hits += sum(darts.random() ** 2 + darts.random() ** 2 <= 1.0 for _ in range(DARTS_PER_STEP))
        error = abs(4.0 * hits / (step * DARTS_PER_STEP) - math.pi)
        report({"metric": "pi_error", "value": error, "step": step, "at_s": time.time()})
        time.sleep(max(0.0, args.step_seconds - (time.monotonic() - started)))


def report(line: dict[str, object]) -> None:
    """Append to the metrics file, or print where there is none."""
    path = os.environ.get("SEEDANCE_METRICS_FILE")
    if path is None:
        print(json.dumps(line), file=sys.stdout, flush=True)
    else:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
