"""Contention stretches the critical path, which may become another one (R2.1)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.cost.coupled import (
    PUBLISHED,
    RESOURCES,
    UNCHANGED,
    Factor,
    Operation,
    factors_from,
    measured_step,
    split_step,
)
from seedance_ops.cost.errors import BadQuantity


def test_the_published_factors_are_the_reports():
    # R2.1: 5 → 7 ns, 80 → 210 ns, 120 → 480 µs, 150 → 890 µs.
    assert {name: factor.amplification for name, factor in PUBLISHED.items()} == pytest.approx(
        {"compute": 1.4, "memory": 2.625, "network": 4.0, "storage": 890 / 150}
    )
    assert {factor.source for factor in PUBLISHED.values()} == {"published"}


def test_a_chain_of_one_operation_each_by_hand():
    trace = [
        Operation("cpu", "compute", 5e-9),
        Operation("memory", "memory", 80e-9, ("cpu",)),
        Operation("rpc", "network", 120e-6, ("memory",)),
        Operation("read", "storage", 150e-6, ("rpc",)),
    ]
    split = split_step(trace, PUBLISHED)
    assert split.base_path_s == pytest.approx(270.085e-6)
    assert split.contended_path_s == pytest.approx(1370.217e-6)
    assert split.amplification == pytest.approx(1370.217 / 270.085)
    assert split.seconds["storage"] == pytest.approx(890e-6)
    assert split.critical_path == ("cpu", "memory", "rpc", "read")


def test_the_critical_path_can_change_under_contention():
    # Alone, compute (150) hides the network (100); contended, 210 against 400.
    trace = [Operation("compute", "compute", 150.0), Operation("network", "network", 100.0)]
    split = split_step(trace, PUBLISHED)
    assert split.critical_path == ("network",)
    assert (split.base_path_s, split.contended_path_s) == (150.0, 400.0)
    assert split.amplification == pytest.approx(400.0 / 150.0)
    assert split.seconds["compute"] == 0.0


def test_a_diamond_joins_at_the_later_branch():
    trace = [
        Operation("load", "storage", 1.0),
        Operation("forward", "compute", 10.0, ("load",)),
        Operation("prefetch", "memory", 1.0, ("load",)),
        Operation("reduce", "network", 2.0, ("forward", "prefetch")),
    ]
    none = {name: Factor(resource=name, base_s=1.0, contended_s=1.0, source="measured") for name in RESOURCES}
    split = split_step(trace, none, step_time_s=15.0, usd=30.0)
    assert split.critical_path == ("load", "forward", "reduce")
    assert split.seconds == pytest.approx(
        {"storage": 1.0, "compute": 10.0, "memory": 0.0, "network": 2.0, "idle": 2.0}
    )
    assert split.usd == pytest.approx(
        {"storage": 2.0, "compute": 20.0, "memory": 0.0, "network": 4.0, "idle": 4.0}
    )


def test_a_measured_step_is_split_as_its_record_has_it():
    trace = measured_step(compute_s=6.0, communication_wait_s=3.0, checkpoint_stall_s=1.0)
    split = split_step(trace, UNCHANGED, step_time_s=12.0, usd=24.0)
    assert split.usd == pytest.approx(
        {"compute": 12.0, "memory": 0.0, "network": 6.0, "storage": 2.0, "idle": 4.0}
    )
    assert split.amplification == 1.0


def test_measured_factors_replace_published_ones_and_say_so():
    mine = Factor(resource="network", base_s=1e-4, contended_s=2e-4, source="measured")
    trace = [Operation("a", "network", 1.0), Operation("b", "storage", 1.0, ("a",))]
    split = split_step(trace, factors_from([mine]))
    assert split.sources == {"network": "measured", "storage": "published"}
    assert split.seconds["network"] == pytest.approx(2.0)


@given(
    st.lists(
        st.tuples(st.sampled_from(RESOURCES), st.just(0.0) | st.floats(1e-9, 100.0), st.integers(0, 5)),
        min_size=1,
        max_size=8,
    ),
    st.floats(0.0, 50.0),
    st.floats(0.0, 1e4),
)
def test_time_and_cost_sum_to_the_step(operations, waiting_s, usd):
    trace = [
        Operation(str(n), resource, duration, (str(n - 1 - back),) if n - 1 - back >= 0 else ())
        for n, (resource, duration, back) in enumerate(operations)
    ]
    alone = split_step(trace, PUBLISHED)
    step_s = alone.contended_path_s + waiting_s
    split = split_step(trace, PUBLISHED, step_time_s=step_s, usd=usd)
    assert sum(split.seconds.values()) == pytest.approx(step_s, rel=1e-9, abs=1e-9)
    if step_s > 0.0:
        assert sum(split.usd.values()) == pytest.approx(usd, rel=1e-9, abs=1e-9)
    assert 1.0 - 1e-9 <= split.amplification <= 890 / 150 + 1e-9


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        (
            [Operation("a", "compute", 1.0, ("b",)), Operation("b", "compute", 1.0, ("a",))],
            "wait for each other",
        ),
        ([Operation("a", "compute", 1.0, ("z",))], "z: not in the trace"),
        ([Operation("a", "compute", 1.0), Operation("a", "memory", 1.0)], "same name"),
        ([Operation("a", "compute", -1.0)], "duration_s of a"),
        ([Operation("a", "compute", math.nan)], "duration_s of a"),
    ],
)
def test_a_trace_that_cannot_be_is_refused(trace, message):
    with pytest.raises(BadQuantity, match=message):
        split_step(trace, PUBLISHED)


def test_a_step_shorter_than_its_critical_path_refutes_the_factors():
    with pytest.raises(BadQuantity, match="measure them"):
        split_step([Operation("a", "storage", 1.0)], PUBLISHED, step_time_s=2.0)


def test_a_resource_without_a_factor_is_named():
    with pytest.raises(BadQuantity, match="storage"):
        split_step([Operation("a", "storage", 1.0)], {"compute": PUBLISHED["compute"]})
