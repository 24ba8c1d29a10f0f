"""What ``auto`` chooses on each link, what it predicted, and what came of it beside bf16."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from compression_study.links import LINKS, TIMEOUT_S
from seedance_ops.netlab.lab import NetworkLab

PROGRAM = Path(__file__).resolve().parents[1] / "rank_programs/compression_decision.py"
TIERS = ("equivalent", "close", "lossy")


class Decisions:
    """The last decision on each link, kept beside the quality runs."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def measure(self, link: str, tier: str, steps: int) -> None:
        """Two ranks, as two nodes; raises ``LabNotPossible`` without root."""
        with NetworkLab(ranks=2, mbit=LINKS[link]) as lab:
            run = lab.torchrun([str(PROGRAM), tier, str(steps)], timeout_s=TIMEOUT_S)
        if run.exit_code:
            raise SystemExit(run.ranks[run.failed_first or 0].stderr[-3000:])
        self._path(link, tier).write_text(run.ranks[0].stdout.splitlines()[-1], encoding="utf-8")

    def rows(self) -> Iterator[dict[str, Any]]:
        """One for each link and tier that was measured."""
        for link in LINKS:
            for tier in TIERS:
                if self._path(link, tier).exists():
                    yield _row(link, tier, json.loads(self._path(link, tier).read_text(encoding="utf-8")))

    def _path(self, link: str, tier: str) -> Path:
        return self._directory / f"decision-{link}-{tier}.json"


def _row(link: str, tier: str, found: dict[str, Any]) -> dict[str, Any]:
    decision, verdict = found["decision"], found["verdict"]
    predicted = {each["algorithm"]: 1e3 * each["step_s"] for each in decision["predictions"]}
    bf16_ms, auto_ms = np.median(found["bf16_ms"]), np.median(found["auto_ms"])
    return {
        "link": link,
        "tier": tier,
        "chosen": decision["chosen"],
        "kept": None if verdict is None else bool(verdict["kept"]),
        "predicted_ms": float(predicted.get(decision["chosen"], 1e3 * decision["bf16_step_s"])),
        "auto_ms": float(auto_ms),
        "bf16_ms": float(bf16_ms),
        "ratio": float(auto_ms / bf16_ms),
        "probe_s": float(decision["probe_s"]),
        "steps": len(found["auto_ms"]),
    }
