"""Variants resolve to what a launcher runs, and must do equal work."""

from __future__ import annotations

import pytest

from seedance_ops.training.config import StopCondition
from seedance_ops.training.schedule import Schedule

COMPRESSION = "gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}"
PARAMS = ", variants.topk.gradient_compression.k_ratio"


@pytest.fixture
def with_set(spoil, load):
    """The valid job with a ``set`` instead of compression, and further changes."""

    def loaded(overrides, *changes):
        return load(spoil((COMPRESSION, f"set: {overrides}"), (PARAMS, ""), *changes))

    return loaded


def test_args_become_options(spoil, load):
    args = "args: {layers: 2, amp: true, debug: false, seed: null, lr: [0.1, x], name: a b}"
    resolved = load(spoil(("args: {layers: 2}", args))).job.resolve("baseline")
    assert resolved.argv() == (
        *("python", "examples/char_gpt.py", "--layers", "2", "--amp"),
        *("--lr", "0.1", "--lr", "x", "--name", "a b"),
    )


def test_a_command_is_kept_and_args_follow_it(spoil, load):
    text = spoil(("entrypoint: examples/char_gpt.py", "command: [bash, -c, 'true; false']"))
    assert load(text).job.resolve("baseline").argv() == ("bash", "-c", "true; false", "--layers", "2")


def test_overrides_apply_to_their_variant_alone(with_set):
    job = with_set("{workload.batch.per_rank: 32, workload.args.layers: 4}").job
    assert job.resolve("topk").workload.batch.per_rank == 32
    assert job.resolve("topk").workload.args == {"layers": 4}
    assert job.resolve("baseline").workload.batch.per_rank == 8


def test_a_block_can_be_replaced_as_a_whole(with_set):
    job = with_set("{workload.stop: {steps: 60}}").job
    assert job.resolve("topk").total_steps == 60


def test_steps_follow_from_samples_batch_and_processes(with_set):
    job = with_set("{workload.batch.per_rank: 32}").job
    assert (job.resolve("baseline").world_size, job.resolve("baseline").total_steps) == (2, 60)
    assert job.resolve("topk").total_steps == 15


def test_the_steps_are_those_that_the_session_will_take(with_set):
    job = with_set("{workload.batch.per_rank: 32}", ("samples: 960", "samples: 974")).job
    for name, batch in (("baseline", 8), ("topk", 32)):
        assert job.resolve(name).total_steps == Schedule(StopCondition(samples=974), batch, 2).total_steps()


@pytest.mark.parametrize(("samples", "instead"), [(1000, 1024), (980, 960), (100, 128), (85, 64)])
def test_whole_steps_that_do_unequal_work_are_refused_with_a_number_that_fits(
    samples, instead, spoil, errors_of, load
):
    text = spoil((COMPRESSION, "set: {workload.batch.per_rank: 32}"), (PARAMS, ""))
    (error,) = errors_of(text.replace("samples: 960", f"samples: {samples}"))
    assert error.path == "variants.topk"
    assert f"does {samples // 64 * 64} samples in {samples // 64} whole steps" in error.message
    assert f"stop: {{samples: {instead}}}" in error.suggestion
    load(text.replace("samples: 960", f"samples: {instead}"))
    load(text.replace("samples: 960", f"samples: {samples}") + "unequal_work: allowed\n")


def test_work_that_no_variant_does_in_full_is_a_warning(spoil, load):
    warnings = load(spoil(("samples: 960", "samples: 970"))).warnings
    assert [warning.path for warning in warnings] == ["variants.baseline", "variants.topk"]
    assert "training stops 10 samples earlier" in warnings[0].message


def test_less_work_than_one_step_is_refused(spoil, errors_of):
    (error,) = errors_of(spoil(("samples: 960", "samples: 15")))
    assert (error.path, error.allowed) == ("workload.stop.samples", "16 or more")
    text = spoil((COMPRESSION, "set: {workload.batch.per_rank: 500}"), (PARAMS, ""))
    assert "variants.topk.set.workload.batch.per_rank" in [error.path for error in errors_of(text)]


def test_tokens_in_steps_of_several_sizes_are_a_warning(with_set):
    changes = (("samples: 960", "tokens: 96000"), ("workload.stop.samples", "workload.stop.tokens"))
    assert with_set("{workload.args.layers: 3}", *changes).warnings == ()
    (warning,) = with_set("{workload.batch.per_rank: 32}", *changes).warnings
    assert "16, 64 samples a step" in warning.message


def test_the_difference_from_the_baseline_names_each_setting(with_set):
    job = with_set("{workload.batch.per_rank: 32, workload.args.wide: true}").job
    difference = job.resolve("topk").difference_from(job.resolve("baseline"))
    assert [(one.path, one.baseline, one.variant) for one in difference] == [
        ("workload.args.wide", None, True),
        ("workload.batch.per_rank", 8, 32),
    ]


@pytest.mark.parametrize(
    "overrides",
    ["{workload.batch.per_rank: 16}", '{resources.accelerators: "cpu:4"}', "{workload.stop.steps: 9}"],
)
def test_unequal_work_is_refused(overrides, spoil, errors_of):
    text = spoil(
        (COMPRESSION, f"set: {overrides}"), ("samples: 960", "steps: 60"), ("workload.stop.samples, ", "")
    )
    (error,) = errors_of(text.replace("variants.topk.gradient_compression.k_ratio", ""))
    assert error.path == "variants.topk"
    assert "does 960 samples" in error.message.replace("baseline does", "baseline does")
    assert "unequal_work: allowed" in error.suggestion


def test_unequal_work_can_be_allowed(with_set):
    job = with_set(
        "{workload.batch.per_rank: 16}",
        ("samples: 960", "steps: 60"),
        ("workload.stop.samples", "workload.stop.steps"),
        ("launcher: local", "launcher: local\nunequal_work: allowed"),
    ).job
    assert job.resolve("topk").work == ("samples", 1920)


def test_two_overrides_that_do_not_fit_together_are_an_error(spoil, errors_of):
    (error,) = errors_of(spoil((COMPRESSION, "set: {workload.stop.steps: 9}"), (PARAMS, "")))
    assert error.path == "variants.topk.set.workload.stop.steps"
    assert "exactly one of samples" in error.message


def test_fewer_than_three_seeds_is_a_warning(spoil, load):
    (warning,) = load(spoil(("seeds: 5", "seeds: 2"))).warnings
    assert "not judgeable" in warning.message
    assert warning.place.line == 19


def test_the_first_variant_is_the_baseline_where_none_is_called_so(spoil, load):
    text = spoil(("  baseline: {}", "  dense: {}"), ("compared_to: baseline", "compared_to: dense"))
    assert load(text).job.baseline == "dense"


def test_a_gate_never_judges_the_variant_it_compares_to(load, valid):
    (gate,) = load(valid).job.gates
    assert [name for name in ("baseline", "topk") if gate.applies_to(name)] == ["topk"]
    assert gate.condition == "equivalent_within"
