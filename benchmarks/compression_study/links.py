"""How long a step takes on each link, and what it sends: every compressor in turn, round after round."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seedance_ops.netlab.lab import NetworkLab

LINKS: dict[str, float | None] = {"unshaped": None, "1000": 1000, "200": 200, "50": 50}
PROGRAM = Path(__file__).resolve().parents[1] / "rank_programs/compression_steps.py"
ALONE = "no_exchange"
TIMEOUT_S = 1800


@dataclass(frozen=True)
class StepTimes:
    """Of one compressor on one link."""

    step_ms: np.ndarray
    interface_bytes: float
    """Median of a step, without headers."""

    @property
    def median_ms(self) -> float:
        """Median step."""
        return float(np.median(self.step_ms))

    def quartiles_ms(self) -> list[float]:
        """First and third."""
        low, high = np.percentile(self.step_ms, [25, 75])
        return [float(low), float(high)]


class Timings:
    """The last measurement of each link, kept beside the quality runs."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def of(self, link: str) -> dict[str, StepTimes]:
        """By compressor; empty where the link has not been measured."""
        path = self._directory / f"link-{link}.json"
        rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        found = {}
        for name in dict.fromkeys(row["compressor"] for row in rows):
            own = [row for row in rows if row["compressor"] == name]
            found[name] = StepTimes(
                np.array([row["step_ms"] for row in own]),
                float(np.median([row["interface_bytes"] for row in own])),
            )
        return found

    def measure(self, link: str, compressors: list[str], rounds: int) -> None:
        """Two ranks, as two nodes; raises ``LabNotPossible`` without root."""
        with NetworkLab(ranks=2, mbit=LINKS[link]) as lab:
            run = lab.torchrun([str(PROGRAM), str(rounds), *compressors], timeout_s=TIMEOUT_S)
        if run.exit_code:
            raise SystemExit(run.ranks[run.failed_first or 0].stderr[-3000:])
        rows = json.loads(run.ranks[0].stdout.splitlines()[-1])
        (self._directory / f"link-{link}.json").write_text(json.dumps(rows), encoding="utf-8")
