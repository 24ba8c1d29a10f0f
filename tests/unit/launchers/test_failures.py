"""Why a job failed, from real ends of torchrun's log and the words that sessions left with them.

``torchrun_logs/`` holds what torchrun 2.13 printed for two ranks under gloo, of which rank 1 failed.
"""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from seedance_ops.launchers.base import FailureKind
from seedance_ops.launchers.errors import LaunchError
from seedance_ops.launchers.failures import classify, describe, exit_codes_by_rank, kind_of_refusal
from seedance_ops.launchers.workspace import Workspace
from seedance_ops.storage.errors import BucketMissing, StoreUnreachable
from seedance_ops.training.failure import LastWord, leave_word

LOGS = Path(__file__).parent / "torchrun_logs"
TOLD_TO_END = LastWord(exit_code=143, error="SystemExit", message="143")
LOST_ITS_PEER = LastWord(exit_code=1, error="RuntimeError", message="gloo: Connection closed by peer [::1]:1")
NOT_PREPARED = LastWord(exit_code=78, error="ConfigurationError", message="call session.prepare first")

# The log, what the ranks said, the kind of failure with and without their words, and words of the reason.
CASES = {
    "a bug in the program": (
        "program",
        {0: TOLD_TO_END, 1: LastWord(exit_code=1, error="ValueError", message="label 7 is not\none of 4")},
        (FailureKind.PROGRAM, FailureKind.PROGRAM),
        "exit code rank 0: 143, rank 1: 1; rank 1: ValueError: label 7 is not one of 4",
    ),
    "out of GPU memory": (
        "memory",
        {0: LOST_ITS_PEER, 1: LastWord(exit_code=1, error="OutOfMemoryError", message="Tried to allocate")},
        (FailureKind.OUT_OF_MEMORY, FailureKind.OUT_OF_MEMORY),
        "rank 1: OutOfMemoryError: Tried to allocate",
    ),
    "out of host memory, which has no message": (
        "host-memory",
        {0: LOST_ITS_PEER, 1: LastWord(exit_code=1, error="MemoryError", message="")},
        (FailureKind.OUT_OF_MEMORY, FailureKind.OUT_OF_MEMORY),
        "rank 1: MemoryError",
    ),
    "a killed rank, of which only its peer can tell": (
        "killed",
        {0: LOST_ITS_PEER},
        (FailureKind.NODE_LOST, FailureKind.NODE_LOST),
        "rank 1: -9",
    ),
    "arguments that the program refuses, before any session": (
        "argparse",
        {},
        (FailureKind.BAD_INPUT, FailureKind.BAD_INPUT),
        "rank 1: 2",
    ),
    "a session used wrongly": (
        "unprepared",
        {0: NOT_PREPARED, 1: NOT_PREPARED},
        (FailureKind.BAD_INPUT, FailureKind.BAD_INPUT),
        "rank 0: ConfigurationError: call session.prepare first",
    ),
}


@pytest.mark.parametrize(("log", "words", "kinds", "reason"), CASES.values(), ids=CASES)
def test_a_failure_is_told_by_its_kind_and_cause(
    log: str, words: dict[int, LastWord], kinds: tuple[FailureKind, FailureKind], reason: str
) -> None:
    tail = (LOGS / f"{log}.log").read_text()
    said, unsaid = (classify(exit_codes_by_rank(tail, 1, each), tail, each) for each in (words, {}))
    assert (said, unsaid) == kinds
    assert reason in describe(exit_codes_by_rank(tail, 1, words), tail, words)


@pytest.mark.parametrize(
    ("exit_code", "error", "kind"),
    [
        (78, "CheckpointError", FailureKind.BAD_INPUT),
        (74, "StoreUnreachable", FailureKind.STORAGE),
        (1, "DistBackendError", FailureKind.COMMUNICATION),
        (1, "DistStoreError", FailureKind.COMMUNICATION),
        (1, "OutOfMemoryError", FailureKind.OUT_OF_MEMORY),
        (1, "ZeroDivisionError", FailureKind.PROGRAM),
        (2, "SystemExit", FailureKind.BAD_INPUT),
    ],
)
def test_a_ranks_own_word_counts_more_than_the_log(exit_code: int, error: str, kind: FailureKind) -> None:
    words = {0: LastWord(exit_code=exit_code, error=error, message="")}
    noise = "caught and survived: ValueError: x\n"
    assert classify(exit_codes_by_rank(noise, 1, words), noise, words) is kind


def test_a_pattern_in_the_log_does_not_contradict_the_word() -> None:
    survived = "MemoryError: caught, halving the batch\nNCCL error: retried\n"
    words = {3: LastWord(exit_code=1, error="KeyError", message="'label'")}
    assert classify({"3": 1}, survived, words) is FailureKind.PROGRAM
    assert classify({"job": 1}, survived, {}) is FailureKind.OUT_OF_MEMORY
    assert describe({"3": 1}, survived, words) == "exit code rank 3: 1; rank 3: KeyError: 'label'"


def test_without_words_the_reason_is_the_logs_last_error() -> None:
    tail = (LOGS / "argparse.log").read_text()
    assert "exit code rank 0: -15, rank 1: 2; " in describe(exit_codes_by_rank(tail, 1, {}), tail, {})
    assert describe({"job": 3}, "nothing to see\n", {}) == "exit code job: 3"


def test_an_exit_code_of_the_session_counts_without_its_word() -> None:
    assert classify({"1": 74}, "", {}) is FailureKind.STORAGE
    assert classify({"1": 78}, "MemoryError", {}) is FailureKind.BAD_INPUT


def test_words_are_read_from_the_workspace_and_torn_ones_passed_over(tmp_path: Path) -> None:
    leave_word(MemoryError(), tmp_path, 12)
    (tmp_path / "failure-rank-0001.json").write_text('{"exit_code": 1, ')
    (tmp_path / "failure-rank-of-somebody.json").write_text("{}")
    assert Workspace(tmp_path).last_words() == {12: LastWord(exit_code=1, error="MemoryError", message="")}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StoreUnreachable("no answer"), FailureKind.STORAGE),
        (BucketMissing("no bucket"), FailureKind.STORAGE),
        (OSError(errno.ENOSPC, "No space left on device"), FailureKind.STORAGE),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), FailureKind.STORAGE),
        (OSError(errno.EIO, "Input/output error"), FailureKind.STORAGE),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), FailureKind.BAD_INPUT),
        (ValueError("embedded null byte"), FailureKind.BAD_INPUT),
        (LaunchError("secret HUB leads nowhere"), FailureKind.BAD_INPUT),
    ],
)
def test_a_full_or_broken_disk_and_the_store_are_storage_and_may_be_tried_again(error, kind):
    assert kind_of_refusal(error) is kind


def test_the_programs_own_error_is_told_and_not_torchruns_echo_of_it() -> None:
    tail = (
        "[rank0]:usage: char_gpt.py [-h]\n"
        "[rank0]:char_gpt.py: error: unrecognized arguments: --eval_every 12\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
    )
    assert "unrecognized arguments: --eval_every 12" in describe({"0": 2}, tail, {})
