"""Real ranks that were told different things end together, with 78 and a message that names both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.small_plan import small_plan

RunRanks = Callable[..., list[int | None]]

ON = {"SEEDANCE_COMPRESS_GRADIENTS": "1", "SEEDANCE_COMPRESS_K_RATIO": "0.01"}


@pytest.mark.parametrize(
    ("ranks", "by_rank", "said"),
    [
        (
            4,
            {"3": {"SEEDANCE_COMPRESS_K_RATIO": "0.05"}},
            "rank 0 has gradient_compression.k_ratio 0.01, rank 3 has 0.05",
        ),
        (
            2,
            {"1": {"SEEDANCE_COMPRESS_GRADIENTS": "0"}},
            "rank 0 has gradient_compression.algorithm topk_error_feedback, rank 1 has dense",
        ),
        (2, {"1": {"WORLD_SIZE": "3"}}, "rank 0 has WORLD_SIZE 2, rank 1 has 3"),
        (2, {"0": {"WORLD_SIZE": "3"}}, "rank 0 has WORLD_SIZE 3, rank 1 has 2"),
        (2, {"1": {"STEPS": "13"}}, "rank 0 has workload.stop.steps 12, rank 1 has 13"),
    ],
    ids=["k_ratio", "algorithm", "world size", "world size of rank 0", "steps"],
)
def test_ranks_that_were_told_different_things_all_end_with_78(
    run_ranks: RunRanks, tmp_path: Path, ranks: int, by_rank: dict[str, dict[str, str]], said: str
) -> None:
    codes = run_ranks("told_differently.py", ranks, tmp_path / "log", ON | {"BY_RANK": json.dumps(by_rank)})
    log = (tmp_path / "log").read_text()
    assert codes == [78] * ranks, log
    assert log.count(said) == ranks, log
    assert "Traceback" not in log


def test_plans_that_differ_in_the_backend_end_before_a_group_is_made(
    run_ranks: RunRanks, tmp_path: Path
) -> None:
    """Without a GPU NCCL is refused too: but first ranks are told what they differ in."""
    variables = {}
    for rank, backend in enumerate(("gloo", "nccl")):
        path = tmp_path / f"plan-{rank}.json"
        small_plan(
            compression={"algorithm": "bf16", "allreduce_backend": backend}, stamp={"token": "do-not-tell"}
        ).write(path)
        variables[str(rank)] = {"SEEDANCE_PLAN": str(path), "SEEDANCE_WORKSPACE": str(tmp_path / "work")}
    codes = run_ranks("told_differently.py", 2, tmp_path / "log", {"BY_RANK": json.dumps(variables)})
    log = (tmp_path / "log").read_text()
    assert codes == [78, 78], log
    assert log.count("rank 0 has gradient_compression.allreduce_backend gloo, rank 1 has nccl") == 2, log
    assert "do-not-tell" not in log
    assert "the-bucket" not in log
    assert "allreduce_backend gloo, rank 1 has nccl" in (tmp_path / "work/failure-rank-0001.json").read_text()
