"""Which submission comes next: nothing is paid for twice, and nothing that failed is mistaken for done."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.launchers.base import LaunchState
from seedance_ops.launchers.record import LaunchRecord
from seedance_ops.orchestration.submissions import Intent, next_intent

WANTED = Intent(variant="topk", seed=3, job_hash="a" * 64, max_tries=2)
CLEARED = WANTED.model_copy(update={"max_tries": 5})
FAILURES = st.sampled_from(
    [LaunchState.FAILED, LaunchState.LOST, LaunchState.CANCELLED, LaunchState.PREEMPTED]
)


def record(submission: int, state: LaunchState, take: int = 1) -> LaunchRecord:
    return LaunchRecord(
        name="name",
        launcher="local",
        job="job",
        run_id="run",
        variant="topk",
        seed=3,
        take=take,
        submission=submission,
        state=state,
        order=0,
        num_nodes=1,
        processes_per_node=2,
        accelerator="cpu",
        submitted_at_s=0.0,
    )


def test_the_first_try_makes_the_first_submission() -> None:
    assert next_intent(WANTED, None, []) == WANTED


def test_a_try_after_a_killed_worker_is_the_same_submission() -> None:
    assert next_intent(WANTED, WANTED, []) == WANTED.model_copy(update={"reattached": True})


@given(FAILURES, st.integers(1, 50), st.integers(1, 5))
def test_a_failed_submission_is_followed_by_a_new_one_that_resumes(
    outcome: LaunchState, submission: int, take: int
) -> None:
    before = WANTED.model_copy(update={"submission": submission, "take": take}).ended(outcome)
    after = next_intent(WANTED, before, [])
    assert (after.submission, after.take, after.outcome) == (submission + 1, take, None)


def test_clearing_a_finished_training_starts_it_from_scratch_under_a_new_name() -> None:
    after = next_intent(CLEARED, WANTED.ended(LaunchState.SUCCEEDED), [])
    assert (after.submission, after.take, after.outcome) == (2, 2, None)


def test_a_retry_after_a_recorded_success_trains_nothing_again() -> None:
    done = WANTED.ended(LaunchState.SUCCEEDED)
    assert next_intent(WANTED, done, []) == done


@given(FAILURES)
def test_failures_are_counted_until_somebody_clears_the_task(outcome: LaunchState) -> None:
    first = next_intent(WANTED, WANTED.ended(outcome), [])
    second = next_intent(WANTED, first.ended(outcome), [])
    assert (first.failures, second.failures) == (1, 2)
    assert next_intent(CLEARED, second.ended(outcome), []).failures == 0


def test_state_that_belongs_to_another_training_is_not_believed() -> None:
    other = Intent(variant="bf16", seed=3, job_hash="a" * 64, submission=7)
    assert next_intent(WANTED, other, []) == WANTED


@given(st.lists(st.tuples(FAILURES, st.integers(1, 3)), min_size=1, max_size=6))
def test_without_memory_the_store_tells_how_far_the_counter_is(ends: list[tuple[LaunchState, int]]) -> None:
    records = [record(number, state, take) for number, (state, take) in enumerate(ends, start=1)]
    after = next_intent(WANTED, None, records)
    assert after.submission == len(records) + 1
    assert after.take == ends[-1][1]


def test_preemptions_are_counted_within_one_try() -> None:
    assert WANTED.after_preemption().after_preemption().preemptions == 2
    assert next_intent(WANTED, WANTED.after_preemption().ended(LaunchState.FAILED), []).preemptions == 0
