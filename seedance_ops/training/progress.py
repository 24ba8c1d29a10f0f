"""Tells the launcher how far training is: a small JSON file, replaced atomically at most twice a second."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

_INTERVAL_S = 0.5


class ProgressFile:
    """Written by rank 0 where the launcher named a file; otherwise does nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._written_at_s = 0.0
        self._phase = ""

    def write(self, phase: str, step: int, total_steps: int | None, samples: int) -> None:
        """Replace the file when the phase has changed, or half a second after the last time."""
        now = time.monotonic()
        if self._path is None or (phase == self._phase and now - self._written_at_s < _INTERVAL_S):
            return
        self._written_at_s, self._phase = now, phase
        document = {
            "step": step,
            "total_steps": total_steps,
            "samples": samples,
            "at_s": time.time(),
            "phase": phase,
        }
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        draft.write_text(json.dumps(document), encoding="utf-8")
        draft.replace(self._path)
