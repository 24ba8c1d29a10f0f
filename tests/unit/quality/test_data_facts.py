"""What each data check counts, on a run small enough to see it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.cost.hardware import load_hardware
from seedance_ops.quality.data.complete import complete, strangers_in
from seedance_ops.quality.data.f_p import f_p_consistent
from seedance_ops.quality.data.finite import finite
from seedance_ops.quality.data.monotone import monotone_steps
from seedance_ops.quality.data.prices import price_sane
from seedance_ops.quality.data.utilisation import utilisation_in_range
from seedance_ops.quality.data.wire_bytes import bytes_consistent
from seedance_ops.quality.statistics import MetricComparison, Statistics
from seedance_ops.stats.comparison import compare
from seedance_ops.training.compression.config import (
    Bf16Config,
    DenseConfig,
    Fp16Config,
    LocalUpdatesConfig,
    MixedPrecisionConfig,
    PowerSgdConfig,
    QuantizedErrorFeedbackConfig,
    RandomKConfig,
    TopKErrorFeedbackConfig,
)
from tests.unit.quality.conftest import PRICE, RANKS, SEEDS, STEPS

HARDWARE = Path(__file__).resolve().parents[3] / "include/catalog/hardware.yaml"
BF16 = Bf16Config(algorithm="bf16")
FP16 = Fp16Config(algorithm="fp16")
TOPK = TopKErrorFeedbackConfig(algorithm="topk_error_feedback", k_ratio=0.01)
QUANTIZED = QuantizedErrorFeedbackConfig(algorithm="quantized_error_feedback", levels=5)
RANDOM = RandomKConfig(algorithm="random_k", k_ratio=0.01)
POWERSGD = PowerSgdConfig(algorithm="powersgd")
MIXED = MixedPrecisionConfig(algorithm="mixed_precision")
LOCAL = LocalUpdatesConfig(algorithm="local_updates")


def completeness(tables, variant="topk", seeds=tuple(range(SEEDS)), ranks=RANKS):
    return complete(variant, tables.of(variant), seeds=seeds, ranks=ranks)


def test_a_whole_run_has_no_violation(tables):
    found = completeness(tables)
    assert (found.checked, found.violations, found.example) == (SEEDS * RANKS, 0, None)


@pytest.mark.parametrize(
    ("table", "damage", "words"),
    [
        ("runs", lambda frame: frame[frame["seed"] != 1], "seed 1 has no row in the run table"),
        ("runs", lambda frame: pd.concat([frame, frame[frame["seed"] == 1]]), "seed 1 has 2 rows"),
        ("runs", lambda frame: frame.assign(seed=frame["seed"].replace(2, 9)), "seed 2 has no row"),
        (
            "steps",
            lambda frame: frame[(frame["seed"] != 2) | (frame["rank"] != 1)],
            "no step records of rank 1",
        ),
        ("steps", lambda frame: frame.assign(rank=frame["rank"] + 1), "no step records of rank 0"),
        ("steps", lambda frame: frame.assign(world_size=4), "a world of 4 ranks, but 2 were planned"),
        ("steps", lambda frame: pd.concat([frame, frame]), "step 1 and 2 more stand more than once"),
        (
            "steps",
            lambda frame: pd.concat([frame, frame.assign(seed=9)]),
            "the table steps has rows of seed 9",
        ),
        ("launches", lambda frame: pd.concat([frame, frame]), "submission 1 and 0 more stand more than once"),
        ("evaluations", lambda frame: pd.concat([frame, frame]), "metric val_loss: step 3"),
    ],
)
def test_what_is_missing_doubled_or_another_runs_is_a_violation(tables, table, damage, words):
    damaged = replace(tables, **{table: damage(getattr(tables, table))})
    found = completeness(damaged)
    assert found.violations > 0
    assert words in found.example


def test_a_run_that_failed_is_one_violation_whatever_its_ranks_left(tables):
    gone = replace(
        tables,
        runs=tables.runs[tables.runs["seed"] != 1],
        steps=tables.steps[(tables.steps["seed"] != 1) | (tables.steps["rank"] == 0)],
    )
    assert completeness(gone).violations == 1


def test_a_program_without_step_records_needs_none(tables):
    found = completeness(replace(tables, steps=tables.steps.iloc[:0]), ranks=None)
    assert (found.checked, found.violations) == (SEEDS, 0)


def test_rows_of_a_variant_that_the_run_does_not_have_are_strangers(tables):
    stranger = tables.launches.assign(variant="int8").iloc[:1]
    mixed = replace(tables, launches=pd.concat([tables.launches, stranger]))
    (sentence,) = strangers_in(mixed, ["baseline", "topk"])
    assert sentence == "the table launches has rows of variant int8, which this run does not have"
    assert complete(
        "topk", tables.of("topk"), seeds=range(SEEDS), ranks=RANKS, strangers=[sentence]
    ).violations


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_broken_cell_is_found_where_it_stands(tables, value):
    steps = tables.of("topk").steps.copy()
    steps.iloc[5, steps.columns.get_loc("compute_s")] = value
    found = finite("topk", steps, columns=("step_time_s", "compute_s"))
    assert (found.checked, found.violations) == (2 * len(steps), 1)
    row = steps.iloc[5]
    assert found.example.startswith("compute_s is ")
    assert f"seed {row['seed']} rank {row['rank']} step {row['step']}" in found.example


def test_what_was_never_measured_is_no_gap_and_what_was_measured_once_is(tables):
    steps = tables.of("topk").steps.assign(gpu_utilisation=np.nan)
    assert finite("topk", steps, columns=("gpu_utilisation",)).checked == 0
    steps.iloc[0, steps.columns.get_loc("gpu_utilisation")] = 0.5
    assert finite("topk", steps, columns=("gpu_utilisation",)).violations == len(steps) - 1


@pytest.mark.parametrize(
    "damage", [lambda s: s.drop(columns="compute_s"), lambda s: s.assign(compute_s=np.nan)]
)
def test_what_every_step_measures_may_not_be_lacking(tables, damage):
    steps = damage(tables.of("topk").steps)
    assert finite("topk", steps, columns=("compute_s",)).violations == len(steps)


@pytest.mark.parametrize(
    ("value", "violations"), [(0.0, 0), (1.0, 0), (1.01, 1), (-0.1, 1), (87.0, 1), (np.inf, 1)]
)
def test_a_utilisation_is_a_share(tables, value, violations):
    part = tables.of("topk")
    steps = part.steps.copy()
    steps.iloc[0, steps.columns.get_loc("cpu_utilisation")] = value
    assert utilisation_in_range("topk", steps, part.launches).violations == violations
    launches = part.launches.copy()
    launches.iloc[0, launches.columns.get_loc("mean_cpu_utilisation")] = value
    assert utilisation_in_range("topk", part.steps, launches).violations == violations


def test_steps_go_forward_in_each_rank(tables):
    steps = tables.of("topk").steps
    assert monotone_steps("topk", steps).violations == 0
    swapped = steps.assign(step=STEPS + 1 - steps["step"])
    found = monotone_steps("topk", swapped)
    assert found.violations == SEEDS * RANKS * (STEPS - 1)
    assert "step 2 stands behind step 3" in found.example


def test_time_goes_forward_with_them(tables):
    steps = tables.of("topk").steps.copy()
    place = steps.index[(steps["seed"] == 1) & (steps["rank"] == 0) & (steps["step"] == 2)]
    steps.loc[place, "started_at_s"] -= 100.0
    found = monotone_steps("topk", steps)
    assert found.violations == 1
    assert "seed 1 submission 1 rank 0 step 2 started 99 s before" in found.example


def test_a_resumed_run_may_repeat_steps_in_its_next_submission(tables):
    steps = tables.of("topk").steps
    again = steps.assign(submission=2, started_at_s=steps["started_at_s"] + 1000.0)
    assert monotone_steps("topk", pd.concat([steps, again])).violations == 0


def sent(count, dense):
    return pd.DataFrame(
        {"seed": [0], "rank": [0], "step": [1], "bytes_on_wire": [count], "bytes_dense_fp32": [dense]}
    )


def bytes_fact(steps, compression, world_size, *, gradient_bytes=4, tensors=100, ranks_per_node=1):
    return bytes_consistent(
        "v",
        steps,
        compression=compression,
        world_size=world_size,
        ranks_per_node=ranks_per_node,
        gradient_bytes=gradient_bytes,
        tensors=tensors,
    )


@pytest.mark.parametrize(
    ("compression", "world_size", "bytes_sent", "dense"),
    [
        # A million elements over 8 ranks: a ring sends 8 · N (n−1)/n bytes in fp32, 4 · N (n−1)/n in bf16;
        # 1 % of them as bf16 with an index of 8.6 bits each way, 2 (n−1)/n · 0.01 N · 3.07.
        (DenseConfig(), 8, 7_000_000, 7_000_000),
        (BF16, 8, 3_500_000, 7_000_000),
        (FP16, 8, 3_500_000, 7_000_000),
        (TOPK, 8, 53_800, 7_000_000),
        (QUANTIZED, 8, 1.75e6 * (0.3 + 2 / 256), 7_000_000),
        (RANDOM, 8, 35_000, 7_000_000),
        (POWERSGD, 8, 500_000, 7_000_000),
        (MIXED, 8, 70_000, 7_000_000),
        (LOCAL, 8, 0, 7_000_000),  # the first step
        (LOCAL, 8, 21_500_000, 7_000_000),  # a slice, and AdamW's meeting
        # The step before a checkpoint, with a flush: a dense fp32 ring of what is compressed.
        (TOPK.model_copy(update={"flush_on_save": True}), 8, 7_053_800, 7_000_000),
        (DenseConfig(), 1, 0, 0),
        (BF16, 1, 0, 0),
        (TOPK, 1, 0, 0),
    ],
)
def test_bytes_are_those_of_the_algorithm(compression, world_size, bytes_sent, dense):
    found = bytes_fact(sent(bytes_sent, dense), compression, world_size)
    assert (found.checked, found.violations) == (1, 0)


@pytest.mark.parametrize(
    ("compression", "world_size", "bytes_sent", "dense"),
    [
        (DenseConfig(), 8, 3_500_000, 7_000_000),
        (BF16, 8, 7_000_000, 7_000_000),
        (TOPK, 8, 7_000_000, 7_000_000),
        (TOPK, 8, 40_000, 7_000_000),  # fewer entries than 1 %
        (QUANTIZED, 8, 500_000, 7_000_000),  # fewer than 2.4 bits an element
        (RANDOM, 8, 30_000, 7_000_000),
        (POWERSGD, 8, 4_000_000, 7_000_000),  # more than bf16
        (POWERSGD, 8, 0, 7_000_000),
        (MIXED, 8, 0, 7_000_000),
        (MIXED, 8, 4_000_000, 7_000_000),
        (LOCAL, 8, 32_000_000, 7_000_000),
        (DenseConfig(), 8, 0, 0),
        (DenseConfig(), 8, np.nan, 7_000_000),
        (DenseConfig(), 1, 400, 0),
    ],
)
def test_bytes_of_another_algorithm_are_a_violation(compression, world_size, bytes_sent, dense):
    assert bytes_fact(sent(bytes_sent, dense), compression, world_size).violations == 1


def test_every_tensor_may_be_padded():
    assert bytes_fact(sent(3_500_000 + 14 * 100 * 200, 7_000_000), TOPK, 8).violations == 0


@pytest.mark.parametrize(
    ("keys", "bytes_sent", "violations"),
    [
        # A million elements, 2 nodes of 4: 2 · 3/4 · 4 bytes each in fp32 within, and between nodes
        # 2 · 1/2 · 1/4 of them as 1 % with 3.07 bytes.
        ({}, 6_000_000 + 7_680, 0),
        ({}, 53_800, 1),  # of one level
        ({}, 3_500_000, 1),
        ({"dense_steps": 5}, 3_500_000, 0),  # less than the dense level
        ({"dense_steps": 5}, 6_007_680, 0),
        ({}, 7_600_000, 1),
    ],
)
def test_with_two_levels_a_rank_sends_its_node_more_than_the_network(keys, bytes_sent, violations):
    compression = TOPK.model_copy(update={"two_levels": True, **keys})
    found = bytes_fact(sent(bytes_sent, 7_000_000), compression, 8, ranks_per_node=4)
    assert found.violations == violations
    one_level = bytes_fact(sent(53_800, 7_000_000), compression, 8, ranks_per_node=1)
    assert one_level.violations == 0


def test_a_model_in_half_precision_sends_half():
    assert bytes_fact(sent(3_500_000, 7_000_000), DenseConfig(), 8, gradient_bytes=2).violations == 0


@pytest.mark.parametrize(
    ("usd", "accelerator", "words"),
    [
        (0.0425, "cpu-core", None),
        (2.0, "h100", None),
        (7200.0, "h100", "would be plausible"),  # an hour's price per … something else
        (np.nan, "h100", "nan USD an hour is not a price"),
        (-1.0, "h100", "is not a price"),
        (700.0, None, "placeholder"),  # what SkyPilot's GCP list wrote where it had none
        (2.0, "h1000", "accelerator 'h1000'"),
    ],
)
def test_a_price_is_one_for_what_it_buys(usd, accelerator, words):
    price = PRICE.model_copy(update={"usd_per_accelerator_hour": usd, "accelerator": accelerator})
    found = price_sane("v", price, hardware=load_hardware(HARDWARE))
    assert (found.checked, found.violations) == (1, int(words is not None))
    assert words is None or words in found.example


def test_without_hardware_only_what_nothing_costs_is_found():
    price = PRICE.model_copy(update={"usd_per_accelerator_hour": 7200.0, "accelerator": "h100"})
    assert price_sane("v", price, hardware=None).violations == 0
    beyond = price.model_copy(update={"usd_per_accelerator_hour": 20_000.0})
    assert price_sane("v", beyond, hardware=None).violations == 1


def test_no_price_is_not_a_sane_one():
    assert price_sane("v", None, hardware=None).checked == 0


def statistics_with(outcome):
    row = MetricComparison(variant="v", metric="val_loss", unit="1", baseline="b", outcome=outcome)
    return Statistics(baseline="b", levels=(), comparisons=(row,))


@given(
    ours=st.lists(st.integers(0, 50), min_size=3, max_size=8, unique=True),
    theirs=st.lists(st.integers(0, 50), min_size=3, max_size=8, unique=True),
    paired=st.booleans(),
)
def test_what_is_inferred_is_consistent_with_its_own_interval(ours, theirs, paired):
    found = compare(
        pd.Series(ours, dtype=float), pd.Series(theirs, dtype=float), pairs_by_seed=paired, nature="measured"
    )
    fact = f_p_consistent("v", statistics_with(found))
    assert fact is None or fact.violations == 0


def test_a_p_that_its_interval_cannot_have_is_a_violation():
    """Differences −1, −2, −3: t = −2 ÷ (1/√3) = −3.4641, 2 degrees of freedom, F = 12, p = 0.0742."""
    ours, theirs = pd.Series([1.0, 2.0, 3.0]), pd.Series([2.0, 4.0, 6.0])
    found = compare(ours, theirs, pairs_by_seed=True, nature="measured")
    assert found.p_value == pytest.approx(0.0742, abs=5e-5)
    assert f_p_consistent("v", statistics_with(found)).violations == 0
    wrong = found.model_copy(update={"p_value": 0.0074})
    fact = f_p_consistent("v", statistics_with(wrong))
    assert fact.violations == 1
    assert "p = 0.0074, but its interval stands for 0.0742" in fact.example


def test_where_no_p_is_stated_there_is_no_such_check():
    counted = compare(pd.Series([1.0] * 3), pd.Series([2.0] * 3), pairs_by_seed=False, nature="counted")
    assert f_p_consistent("v", statistics_with(counted)) is None
    assert f_p_consistent("other", statistics_with(counted)) is None
