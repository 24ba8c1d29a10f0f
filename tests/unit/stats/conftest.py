"""The simulations of ``benchmarks/statistics.py``, which are too few here to measure but enough to catch."""

from __future__ import annotations

import sys
from pathlib import Path

# Last on the path: the folder holds a statistics.py of its own.
sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))
