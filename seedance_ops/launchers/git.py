"""Runs git without prompts, and without what a surrounding git process left in the environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_TIMEOUT_S = 300


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run one git command in a folder; raises ``FileNotFoundError`` where git is not installed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        capture_output=True,
        timeout=_TIMEOUT_S,
        check=False,
        env=environment | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
    )
