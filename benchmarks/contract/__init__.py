"""The file that every benchmark writes: what was measured, and on what machine."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_results(
    file: Path, benchmark: str, results: Sequence[Mapping[str, object]], **environment: object
) -> None:
    """Write the results; ``environment`` adds what else decides the figures."""
    machine = {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu_count": os.cpu_count(),
    }
    content = {"benchmark": benchmark, "environment": machine | environment, "results": list(results)}
    file.write_text(json.dumps(content, indent=2), encoding="utf-8")
