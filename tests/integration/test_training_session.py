"""The session around real process groups: exit codes, equality with plain DDP, and the example script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
EXAMPLE = PROJECT / "examples" / "char_gpt.py"
SMALL = ["--layers", "1", "--width", "32", "--context", "32", "--steps", "40", "--eval-every", "20"]

RunRanks = Callable[..., list[int | None]]


def test_the_dense_reduction_trains_to_the_bits_of_plain_ddp(run_ranks: RunRanks, tmp_path: Path) -> None:
    codes = run_ranks("dense_equals_ddp.py", 2, tmp_path / "log")
    assert codes == [0, 0], (tmp_path / "log").read_text()


def test_an_infinite_gradient_reaches_every_rank_once_and_poisons_nothing(
    run_ranks: RunRanks, tmp_path: Path
) -> None:
    switches = {"SEEDANCE_COMPRESS_GRADIENTS": "1", "SEEDANCE_COMPRESS_K_RATIO": "0.05"}
    codes = run_ranks("non_finite.py", 2, tmp_path / "log", switches)
    assert codes == [0, 0], (tmp_path / "log").read_text()


def test_the_bytes_on_the_wire_are_those_that_the_kernel_counts(run_ranks: RunRanks, tmp_path: Path) -> None:
    """Of all that reduce gradients, in a network namespace whose loopback device carries nothing else."""
    if subprocess.run(
        ["unshare", "--map-root-user", "--net", "true"], check=False, capture_output=True
    ).returncode:
        pytest.skip("LOUD: this machine allows no network namespaces, so the wire is not counted")
    assert run_ranks("wire.py", 1, tmp_path / "log") == [0], (tmp_path / "log").read_text()


def test_a_plan_that_cannot_be_read_ends_with_78_and_a_message(run_ranks: RunRanks, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"job": "x", "seed": -1}')
    assert run_ranks("tiny.py", 1, tmp_path / "log", {"SEEDANCE_PLAN": str(plan)}) == [78]
    log = (tmp_path / "log").read_text()
    assert str(plan) in log
    assert "seed" in log
    assert "Traceback" not in log


def test_the_example_learns_under_plain_torchrun(tmp_path: Path) -> None:
    """No plan and no launcher: only torchrun, and what the example prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEEDANCE_")}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    result = subprocess.run(
        [*torchrun, str(EXAMPLE), *SMALL],
        env=environment | {"OMP_NUM_THREADS": "1", "SEEDANCE_METRICS_FILE": str(tmp_path / "metrics.jsonl")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [20, 40]
    assert lines[-1]["value"] < lines[0]["value"] < 5.0


def test_the_example_differs_from_plain_pytorch_in_at_most_ten_lines() -> None:
    lines = EXAMPLE.read_text().splitlines()
    code = lines[next(i for i, line in enumerate(lines) if line.startswith("import ")) :]
    marked = [line for line in code if line.endswith("# seedance")]
    assert 0 < len(marked) <= 10
    unmarked = [line for line in code if "seedance" in line.replace("# seedance", "") and line not in marked]
    assert unmarked == []
    assert [line for line in code if "session." in line and line not in marked] == [
        line for line in code if line.strip() == "if session.rank == 0:"
    ]


@pytest.mark.parametrize("ranks", [1, 3])
def test_lossy_reductions_lose_nothing_and_agree(run_ranks: RunRanks, tmp_path: Path, ranks: int) -> None:
    codes = run_ranks("lossy_reductions.py", ranks, tmp_path / "log")
    assert codes == [0] * ranks, (tmp_path / "log").read_text()


def test_a_flush_loses_nothing_and_leaves_all_ranks_alike(run_ranks: RunRanks, tmp_path: Path) -> None:
    assert run_ranks("flush.py", 3, tmp_path / "log") == [0] * 3, (tmp_path / "log").read_text()


def test_auto_decides_once_and_gives_up_what_does_not_pay(run_ranks: RunRanks, tmp_path: Path) -> None:
    codes = run_ranks("auto.py", 2, tmp_path / "log")
    assert codes == [0, 0], (tmp_path / "log").read_text()


@pytest.mark.parametrize("ranks", [1, 3])
def test_local_updates_bring_ranks_together(run_ranks: RunRanks, tmp_path: Path, ranks: int) -> None:
    codes = run_ranks("local_updates.py", ranks, tmp_path / "log")
    assert codes == [0] * ranks, (tmp_path / "log").read_text()
