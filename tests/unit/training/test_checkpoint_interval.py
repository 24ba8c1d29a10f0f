"""Policies of the interval between checkpoints: golden values, bounds, and what the log explains."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.training.checkpoint.config import CheckpointConfig
from seedance_ops.training.checkpoint.interval.adaptive import least_cost_interval_s
from seedance_ops.training.checkpoint.interval.measuring import CostMeter
from seedance_ops.training.checkpoint.interval.observation import IntervalState, Observation
from seedance_ops.training.checkpoint.interval.policies import policy_of, replay
from seedance_ops.training.metrics.records import CheckpointWriteRecord

ADAPTIVE: dict[str, Any] = {"policy": "adaptive"}


def policy(base: int, interval: dict[str, Any], *, object_every: int = 1) -> Any:
    config = {"interval_steps": base, "interval": interval, "cadence": {"object": object_every}}
    return policy_of(CheckpointConfig.model_validate(config))


def seen(since: int, *, step: int = 1000, **measured: Any) -> Observation:
    return Observation(step=step, steps_since_last=since, **measured)


def interval_under(base: int, shares: tuple[float, ...], **settings: Any) -> int:
    report = policy(base, {"policy": "report"} | settings)
    return int(report.decide(report.start(), seen(base, busy_shares=shares))[1].interval_steps)


@pytest.mark.parametrize(("base", "busy"), [(10, 50), (25, 50), (26, 52), (100, 200)])
def test_the_report_has_max_of_50_and_twice_the_base_under_three_busy_samples(base: int, busy: int) -> None:
    assert interval_under(base, (0.66, 0.9, 1.0)) == busy


@pytest.mark.parametrize(
    "shares", [(), (0.9, 0.9), (0.9, 0.65, 0.9), (0.64, 0.9, 0.9), (0.9, 0.9, 0.9, 0.1), (0.0, 0.0, 0.0)]
)
def test_the_report_has_the_base_under_anything_less(shares: tuple[float, ...]) -> None:
    assert interval_under(100, shares) == 100


def test_old_samples_do_not_count_for_the_report() -> None:
    assert interval_under(100, (0.1, 0.9, 0.9, 0.9)) == 200


def test_a_busy_disk_makes_the_report_wait_and_a_quiet_one_ends_that() -> None:
    report = policy(20, {"policy": "report"})
    busy, quiet = (0.9,) * 3, (0.1,) * 3
    state, first = report.decide(report.start(), seen(20, step=20, busy_shares=busy))
    assert (first.begins, first.interval_steps, first.next_step) == (False, 50, 40)
    state, second = report.decide(state, seen(40, step=40, busy_shares=busy))
    assert (second.begins, second.next_step) == (False, 50)  # not at 60: 50 is the interval
    assert report.decide(state, seen(50, step=50, busy_shares=busy))[1].begins
    state, relief = report.decide(state, seen(40, step=40, busy_shares=quiet))
    assert (relief.begins, relief.interval_steps, relief.next_step) == (True, 20, 60)


def test_the_fixed_policy_asks_at_the_multiples_alone() -> None:
    fixed = policy(5, {"policy": "fixed"})
    assert [fixed.first_step(step, fixed.start()) for step in (0, 4, 5, 7)] == [5, 5, 10, 10]
    decision = fixed.decide(fixed.start(), seen(1, step=5, busy_shares=(1.0,) * 3))[1]
    assert (decision.begins, decision.next_step, decision.retry_step) == (True, 10, 10)


def test_the_formula_by_hand() -> None:
    # sqrt(2 * 2 s * 86,400 s) = sqrt(345,600) = 587.877…
    assert least_cost_interval_s(2.0, 86_400.0, 30.0) == pytest.approx(587.8775, abs=1e-4)
    assert least_cost_interval_s(2.0, 86_400.0, 600.0) == 600.0
    assert least_cost_interval_s(0.0, 86_400.0, 0.0) == 0.0


def test_the_formula_is_where_cost_and_lost_work_are_least_together() -> None:
    """Against a plain search over C/T + T/(2M), which the formula was derived from."""
    times = range(10, 3000)
    best = min(times, key=lambda time_s: 3.0 / time_s + time_s / (2 * 40_000.0))
    assert abs(least_cost_interval_s(3.0, 40_000.0, 0.0) - best) <= 1.0


def test_the_adaptive_interval_in_steps_by_hand() -> None:
    adaptive = policy(100, ADAPTIVE)
    first = adaptive.decide(adaptive.start(), seen(100, step=100, step_s=2.0))[1]
    assert (first.begins, first.interval_steps, first.next_step) == (True, 100, 200)
    measured = seen(100, step=200, step_s=2.0, costs_s=(2.0,), near_s=(30.0,))
    _, second = adaptive.decide(adaptive.start(), measured)
    # 587.9 s at 2 s a step: 294 steps, the 100 done are not enough.
    assert (second.begins, second.interval_steps, second.next_step) == (False, 294, 394)


def test_the_median_of_the_newest_costs_counts() -> None:
    adaptive = policy(100, ADAPTIVE)
    outlier = seen(100, step_s=2.0, costs_s=(500.0, 500.0, 2.0, 2.0, 90.0, 2.0, 1.0))
    assert adaptive.decide(adaptive.start(), outlier)[1].interval_steps == 294


def test_a_checkpoint_does_not_begin_before_the_last_is_durable() -> None:
    slow = {"step_s": 1.0, "costs_s": (0.0,), "near_s": (5.0, 40.0), "far_s": (260.0,)}
    every, tenth = policy(100, ADAPTIVE), policy(100, ADAPTIVE, object_every=10)
    assert every.decide(every.start(), seen(1000, **slow))[1].interval_steps == 300  # 40 + 260
    assert tenth.decide(tenth.start(), seen(1000, **slow))[1].interval_steps == 40  # (40 + 260) / 10 is less


def test_a_checkpoints_own_price_counts_like_a_stall() -> None:
    # 0.01 USD at 18 USD an hour buy 2 s: twice the cost in all, sqrt(2 * 4 * 86,400) = 831.4 s
    priced = policy(100, ADAPTIVE | {"price": {"usd_per_hour": 18.0, "usd_per_checkpoint": 0.01}})
    decision = priced.decide(priced.start(), seen(100, step_s=1.0, costs_s=(2.0,)))[1]
    assert decision.interval_steps == 832


def test_a_small_difference_changes_nothing() -> None:
    adaptive = policy(100, ADAPTIVE | {"mtbf_h": 1.0})
    state = IntervalState(interval_steps=100)

    def interval(cost_s: float) -> int:
        return int(adaptive.decide(state, seen(100, step_s=1.0, costs_s=(cost_s,)))[1].interval_steps)

    assert interval(119.0**2 / 7200) == 100
    assert interval(121.0**2 / 7200) == 121
    assert interval(81.0**2 / 7200) == 100
    assert interval(79.0**2 / 7200) == 79


def test_the_floor_is_stronger_than_the_wish_for_calm() -> None:
    adaptive = policy(100, ADAPTIVE)
    decision = adaptive.decide(adaptive.start(), seen(100, step_s=1.0, costs_s=(0.0,), near_s=(110.0,)))[1]
    assert decision.interval_steps == 110  # within 20 % of 100, but 100 s are too short


def waiting(since: int, others: tuple[float, ...], **settings: Any) -> Any:
    adaptive = policy(100, ADAPTIVE | settings)
    return adaptive.decide(adaptive.start(), seen(since, step=since, others_shares=others))[1]


def test_a_checkpoint_waits_for_a_quiet_moment() -> None:
    busy = waiting(100, (0.9, 0.9, 0.9))
    assert (busy.begins, busy.next_step) == (False, 105)
    assert "90%" in busy.reason
    assert waiting(105, (0.9, 0.2, 0.2)).begins
    assert waiting(100, ()).begins  # where the disk cannot be watched


def test_it_does_not_wait_for_ever() -> None:
    busy = (1.0, 1.0, 1.0)
    assert waiting(149, busy).next_step == 150  # half an interval at most
    assert waiting(150, busy).begins
    assert waiting(120, busy, max_interval_steps=120).begins
    assert waiting(100, busy, max_delay=0.0).begins


def test_a_skipped_one_is_tried_again_soon() -> None:
    assert waiting(100, ()).retry_step == 105


SECONDS = st.floats(0.0, 1e5)
SHARES = st.lists(st.floats(0.0, 1.0), max_size=3).map(tuple)
OBSERVED = st.fixed_dictionaries(
    {
        "step_s": st.none() | st.floats(1e-6, 1e4),
        "costs_s": st.lists(SECONDS, max_size=6).map(tuple),
        "near_s": st.lists(SECONDS, max_size=6).map(tuple),
        "far_s": st.lists(SECONDS, max_size=6).map(tuple),
        "others_shares": SHARES,
    }
)


@given(
    st.lists(st.tuples(st.integers(0, 5000), OBSERVED), min_size=1, max_size=8),
    st.integers(1, 500),
    st.integers(1, 100),
    st.integers(0, 2000),
    st.integers(1, 10),
)
def test_the_interval_stays_in_its_bounds_and_above_the_time_to_durable(
    history: list[tuple[int, dict[str, Any]]], base: int, low: int, width: int, object_every: int
) -> None:
    high = low + width
    bounds = {"min_interval_steps": low, "max_interval_steps": high}
    adaptive = policy(base, ADAPTIVE | bounds, object_every=object_every)
    state, step = adaptive.start(), 1
    for since, measured in history:
        state, decision = adaptive.decide(state, seen(since, step=step, **measured))
        assert low <= decision.interval_steps <= high
        assert decision.interval_steps == state.interval_steps
        assert decision.next_step > step
        assert decision.retry_step > step
        assert decision.begins or since + decision.next_step - step <= high
        if state.step_s is not None and state.costs_s and decision.interval_steps < high:
            durable_s = max(
                max(state.near_s, default=0.0),
                (max(state.near_s, default=0.0) + max(state.far_s, default=0.0)) / object_every,
            )
            assert decision.interval_steps * state.step_s >= durable_s * (1 - 1e-6)
        step = decision.next_step


@given(OBSERVED, st.floats(0.01, 1e4), st.floats(1.0, 100.0), st.integers(1, 1000))
def test_rarer_failures_never_make_checkpoints_more_frequent(
    measured: dict[str, Any], mtbf_h: float, factor: float, current: int
) -> None:
    state = IntervalState(interval_steps=current)
    often, rarely = (
        policy(100, ADAPTIVE | {"mtbf_h": hours, "max_interval_steps": 10**6})
        for hours in (mtbf_h, mtbf_h * factor)
    )
    observation = seen(100, **measured)
    frequent, rare = (each.decide(state, observation)[1].interval_steps for each in (often, rarely))
    assert frequent <= rare


@given(st.lists(OBSERVED, min_size=1, max_size=6), st.sampled_from(["fixed", "report", "adaptive"]))
def test_logged_observations_give_the_same_decisions_again(history: list[dict[str, Any]], name: str) -> None:
    chosen = policy(10, {"policy": name})
    state, logged, decisions = chosen.start(), [], []
    for number, measured in enumerate(history, 1):
        observation = seen(10, step=10 * number, **measured)
        state, decision = chosen.decide(state, observation)
        logged.append(observation.model_dump_json())
        decisions.append(decision)
    read = [Observation.model_validate_json(text) for text in logged]
    assert list(replay(policy(10, {"policy": name}), chosen.start(), read)) == decisions
    assert IntervalState.model_validate_json(state.model_dump_json()) == state


def write(step: int, tier: str, write_s: float) -> CheckpointWriteRecord:
    return CheckpointWriteRecord(step, tier, 1, write_s, 0.0)


def test_a_checkpoint_costs_its_stall_and_what_steps_beside_it_took_longer() -> None:
    meter = CostMeter()
    for _ in range(9):
        meter.step(1.0, 0.0, writing=False)
    meter.began()
    meter.step(1.5, 0.25, writing=True)
    meter.step(1.25, 0.0, writing=False)  # writing ended within it
    meter.step(1.0, 0.0, writing=False)
    meter.committed([write(9, "memory", 0.5), write(9, "local", 2.0), write(9, "object", 4.0)])
    step_s, costs_s, near_s, far_s = meter.take()
    assert (step_s, costs_s) == (1.0, (0.25 + 0.5 + 0.25,))
    assert (near_s, far_s) == ((2.0,), (4.0,))
    assert meter.take() == (1.0, (), (), ())


def test_a_checkpoint_that_is_being_written_has_no_cost_yet() -> None:
    meter = CostMeter()
    meter.step(1.0, 0.0, writing=False)
    meter.began()
    meter.step(3.0, 0.5, writing=True)
    assert meter.take().costs_s == ()
    meter.step(2.0, 0.0, writing=True)
    meter.began()
    assert meter.take().costs_s == (0.5 + 2.0 + 1.0,)


def test_a_step_that_happens_to_be_fast_does_not_make_a_checkpoint_free() -> None:
    meter = CostMeter()
    meter.step(1.0, 0.0, writing=False)
    meter.began()
    meter.step(0.5, 0.25, writing=False)
    assert meter.take().costs_s == (0.25,)


def test_bounds_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="less than min_interval_steps"):
        policy(10, ADAPTIVE | {"min_interval_steps": 20, "max_interval_steps": 10})


def test_the_default_bound_is_ten_bases() -> None:
    adaptive = policy(10, ADAPTIVE)
    costly = seen(10, step_s=1.0, costs_s=(1e4,))
    assert adaptive.decide(adaptive.start(), costly)[1].interval_steps == 100
    assert math.isclose(adaptive.config.mtbf_h, 24.0)
