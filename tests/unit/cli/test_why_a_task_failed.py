"""A failed task's own words reach the terminal, from the newest of its logs."""

from __future__ import annotations

import json
import os
from pathlib import Path

from seedance_ops.cli.live import reason_in


def log(folder: Path, attempt: int, *events: dict[str, object]) -> None:
    path = folder / f"attempt={attempt}.log"
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    os.utime(path, (attempt, attempt))


def raised(message: str) -> dict[str, object]:
    return {"event": "Task failed with exception", "error_detail": [{"exc_value": message}]}


def test_the_newest_attempts_last_exception_is_the_reason(tmp_path: Path) -> None:
    assert reason_in(tmp_path) is None
    log(tmp_path, 1, raised("an older one"))
    log(
        tmp_path,
        2,
        raised("first"),
        {"event": "x"},
        raised("over budget, nothing was launched"),
        {"event": "y"},
    )
    assert reason_in(tmp_path) == "over budget, nothing was launched"


def test_what_is_no_log_of_this_shape_gives_no_reason(tmp_path: Path) -> None:
    (tmp_path / "attempt=1.log").write_bytes(b'\xff "error_detail" \n')
    assert reason_in(tmp_path) is None
