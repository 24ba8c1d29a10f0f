"""What ranks compare, and how a difference is worded."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from torch._C._distributed_c10d import HashStore

from seedance_ops.training.agreement import Told, agree, differences, what_was_told
from seedance_ops.training.config import StopCondition
from seedance_ops.training.environment import JobEnvironment
from seedance_ops.training.errors import ConfigurationError, TrainingError


def on_threads(told: list[Told]) -> list[str]:
    """What each rank's ``agree`` raised."""
    store = HashStore()
    raised = [""] * len(told)

    def rank(number: int) -> Callable[[], None]:
        def compare() -> None:
            try:
                agree(told[number], number, len(told), store)
            except ConfigurationError as error:
                raised[number] = str(error)

        return compare

    threads = [threading.Thread(target=rank(number)) for number in range(len(told))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_ranks_that_were_told_the_same_go_on() -> None:
    assert on_threads([{"seed": 1, "k": 0.01}] * 3) == ["", "", ""]


def test_every_rank_hears_the_same_difference() -> None:
    raised = on_threads([{"seed": 1}, {"seed": 1}, {"seed": 2}])
    assert len(set(raised)) == 1
    assert "rank 0 has seed 1, rank 2 has 2" in raised[0]


def test_keys_that_follow_from_another_difference_are_left_out() -> None:
    assert differences(0, {"algorithm": "dense"}, 4, {"algorithm": "topk", "k_ratio": 0.1}) == (
        "rank 0 has algorithm dense, rank 4 has topk"
    )


def test_a_key_that_only_one_rank_knows_is_a_difference() -> None:
    assert differences(0, {"a": 1, "b": None}, 1, {"a": 1}) == "rank 0 has b none, rank 1 has no such key"


def test_a_rank_that_never_comes_ends_the_wait_and_is_named() -> None:
    with pytest.raises(TrainingError, match="rank 1 of 2 has not started after 1 s") as raised:
        agree({}, 0, 2, HashStore(), patience_s=0.1)
    assert not isinstance(raised.value, ConfigurationError)  # a retry may help


def test_switches_are_compared_by_the_keys_of_the_job() -> None:
    environment = JobEnvironment.read(
        {"SEEDANCE_COMPRESS_GRADIENTS": "1", "SEEDANCE_COMPRESS_K_RATIO": "0.05"}
    )
    told = what_was_told(environment, batch_per_rank=4, stop=StopCondition(steps=7), seed=3)
    assert told["gradient_compression.algorithm"] == "topk_error_feedback"
    assert told["gradient_compression.k_ratio"] == 0.05
    assert (told["workload.batch.per_rank"], told["workload.stop.steps"], told["seed"]) == (4, 7, 3)
