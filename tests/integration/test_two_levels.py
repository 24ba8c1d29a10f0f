"""Real ranks of several nodes average densely within each and compressed between them, or are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.small_plan import small_plan

RunRanks = Callable[..., list[int | None]]


def test_two_levels_lose_nothing_and_agree(run_ranks: RunRanks, tmp_path: Path) -> None:
    codes = run_ranks("two_levels.py", 4, tmp_path / "log", per_node=2)
    assert codes == [0] * 4, (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("ranks", "by_rank", "said"),
    [
        (2, {}, "all 2 ranks are on one node (LOCAL_WORLD_SIZE is 2)"),
        (
            3,
            {"2": {"LOCAL_WORLD_SIZE": "1", "LOCAL_RANK": "0"}},
            "LOCAL_WORLD_SIZE is 3 on ranks 0, 1, 1 on rank 2",
        ),
    ],
    ids=["one node", "unequal nodes"],
)
def test_nodes_that_cannot_be_averaged_between_end_with_78_on_every_rank(
    run_ranks: RunRanks, tmp_path: Path, ranks: int, by_rank: dict[str, dict[str, str]], said: str
) -> None:
    plan = small_plan(compression={"algorithm": "topk_error_feedback", "two_levels": True})
    plan.write(tmp_path / "plan.json")
    variables = {
        "SEEDANCE_PLAN": str(tmp_path / "plan.json"),
        "SEEDANCE_WORKSPACE": str(tmp_path / "work"),
        "BY_RANK": json.dumps(by_rank),
    }
    codes = run_ranks("told_differently.py", ranks, tmp_path / "log", variables)
    log = (tmp_path / "log").read_text()
    assert codes == [78] * ranks, log
    assert log.count(said) == ranks, log
    assert "Traceback" not in log
