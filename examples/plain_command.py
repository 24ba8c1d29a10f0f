"""A program that knows nothing of the pipeline, for ``runtime: none``: it estimates π by throwing darts.

    python examples/plain_command.py --iterations 400000

It takes its seed from ``$SEEDANCE_SEED``. What the pipeline learns of it is what it appends to the file that
``$SEEDANCE_METRICS_FILE`` names: one JSON object a line, with ``metric``, ``value`` and ``step``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
from pathlib import Path

REPORTS = 4


def main() -> None:
    """Throw the darts in equal parts, reporting the estimate's error after each."""
    parser = argparse.ArgumentParser(description="Estimate pi by throwing darts.")
    parser.add_argument("--iterations", type=int, default=400_000, help="darts to throw, at least 4")
    iterations = parser.parse_args().iterations
    if iterations < REPORTS:
        parser.error(f"--iterations: at least {REPORTS}")

    darts = random.Random(int(os.environ.get("SEEDANCE_SEED", "0")))
    thrown = hits = 0
    for part in range(1, REPORTS + 1):
        while thrown < iterations * part // REPORTS:
            hits += darts.random() ** 2 + darts.random() ** 2 <= 1.0
            thrown += 1
        report(metric="error", value=abs(4.0 * hits / thrown - math.pi), step=thrown)


def report(**line: str | float) -> None:
    """Append to the metrics file, or print where there is none."""
    path = os.environ.get("SEEDANCE_METRICS_FILE")
    if path is None:
        print(json.dumps(line), flush=True)
    else:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
