"""FSDP2 with two shards by two replicas: our average across replicas, in real processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.small_plan import small_plan

RunRanks = Callable[..., list[int | None]]


def test_shards_averaged_across_replicas_train_like_ddp(run_ranks: RunRanks, tmp_path: Path) -> None:
    codes = run_ranks("sharded_equals_ddp.py", 4, tmp_path / "log")
    assert codes == [0] * 4, (tmp_path / "log").read_text()


def test_what_cannot_be_averaged_is_refused_on_every_rank(run_ranks: RunRanks, tmp_path: Path) -> None:
    codes = run_ranks("sharded_refusals.py", 4, tmp_path / "log")
    assert codes == [0] * 4, (tmp_path / "log").read_text()


def test_a_session_takes_a_sharded_model(run_ranks: RunRanks, tmp_path: Path) -> None:
    switches = {"SEEDANCE_COMPRESS_GRADIENTS": "1", "SEEDANCE_COMPRESS_K_RATIO": "0.2"}
    codes = run_ranks("sharded_session.py", 4, tmp_path / "log", switches)
    assert codes == [0] * 4, (tmp_path / "log").read_text()


def test_a_sharded_model_is_refused_where_checkpoints_would_have_to_be_kept(
    run_ranks: RunRanks, tmp_path: Path
) -> None:
    small_plan().write(tmp_path / "plan.json")
    codes = run_ranks(
        "sharded_session.py", 4, tmp_path / "log", {"SEEDANCE_PLAN": str(tmp_path / "plan.json")}
    )
    log = (tmp_path / "log").read_text()
    assert codes == [78] * 4, log
    assert "checkpoints of a model under fully_shard are not written yet" in log
