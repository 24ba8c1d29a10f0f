"""Processes that are listened to and end together; no laboratory needed."""

from __future__ import annotations

import os
import time

import pytest

from seedance_ops.netlab import ranks
from seedance_ops.netlab.errors import LabError, RanksTimedOut
from seedance_ops.netlab.ranks import RankProcesses


def run(*scripts, on_line=None, timeout_s=20):
    with RankProcesses(on_line) as processes:
        for script in scripts:
            processes.start(["sh", "-c", script], os.environ)
        return processes.wait(timeout_s), processes.outcomes()


def test_output_is_kept_by_rank_and_stream():
    failed, outcomes = run("echo one; echo two >&2", "printf 'no end'")
    assert failed is None
    assert [(outcome.stdout, outcome.stderr) for outcome in outcomes] == [
        ("one\n", "two\n"),
        ("no end\n", ""),
    ]


def test_lines_arrive_whole_while_the_ranks_run():
    arrived = []
    run(
        "printf 'a\\nb'; sleep 0.3; printf 'c\\n'",
        on_line=lambda line: arrived.append((line.text, time.time())),
    )
    assert [text for text, _ in arrived] == ["a", "bc"]
    assert arrived[1][1] - arrived[0][1] > 0.2


def test_one_rank_failing_ends_the_others():
    began_s = time.monotonic()
    failed, outcomes = run("exec sleep 60", "exit 7")
    assert failed == 1
    assert [outcome.exit_code for outcome in outcomes] == [128 + 15, 7]
    assert time.monotonic() - began_s < 4


def test_the_rank_that_failed_first_is_told_from_those_that_failed_because_of_it():
    failed, outcomes = run("trap 'exit 3' TERM; while :; do sleep 0.05; done", "sleep 0.2; exit 7")
    assert failed == 1
    assert [outcome.exit_code for outcome in outcomes] == [3, 7]


def test_a_rank_that_does_not_listen_is_killed_after_the_grace(monkeypatch):
    monkeypatch.setattr(ranks, "GRACE_S", 0.3)
    _, outcomes = run("trap '' TERM; echo ready; while :; do sleep 0.05; done", "sleep 0.3; exit 1")
    assert outcomes[0].exit_code == 128 + 9


def test_a_rank_may_print_more_than_a_pipe_holds():
    _, outcomes = run("head -c 3000000 /dev/zero | tr '\\0' x")
    assert len(outcomes[0].stdout) == 3_000_001


def test_a_process_that_a_rank_left_behind_is_not_waited_for():
    began_s = time.monotonic()
    failed, outcomes = run("sleep 10 & echo done")
    assert (failed, outcomes[0].stdout) == (None, "done\n")
    assert time.monotonic() - began_s < 5


def test_ranks_that_take_too_long_are_ended_and_named():
    with pytest.raises(RanksTimedOut, match=r"ranks \[1\] still ran after 0.3 s"):
        run("true", "exec sleep 60", timeout_s=0.3)


def test_a_program_that_cannot_be_started_is_named_with_its_rank():
    with pytest.raises(LabError, match="rank 0 cannot be started"), RankProcesses() as processes:
        processes.start(["/no/such/program"], os.environ)
