"""Settings of gradient compression that change nothing are told of; those the ranks would refuse, refused."""

from __future__ import annotations

import pytest

TOPK = "gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}"
PARAMS = "params: [workload.stop.samples, variants.topk.gradient_compression.k_ratio]\n"
PATH = "variants.topk.gradient_compression"


@pytest.fixture
def compressed(spoil):
    """The valid job with other settings of its compression."""
    return lambda keys, *changes: spoil((TOPK, f"gradient_compression: {{{keys}}}"), (PARAMS, ""), *changes)


@pytest.mark.parametrize(
    ("keys", "idle"),
    [
        ("algorithm: quantized_error_feedback, levels: 5, bits_per_element: 3", ["bits_per_element"]),
        ("algorithm: powersgd, rank: 4, byte_share: 0.1", ["byte_share"]),
        (
            "algorithm: mixed_precision, sparse: false, k_ratio: 0.02, trunk_ratio: 0.2",
            ["k_ratio", "trunk_ratio"],
        ),
        ("algorithm: topk_error_feedback, error_accumulation: false, flush_on_save: true", ["flush_on_save"]),
        ("algorithm: topk_error_feedback, dense_steps: 60", ["algorithm"]),
        ("algorithm: quantized_error_feedback, levels: 5", []),
        ("algorithm: quantized_error_feedback, bits_per_element: 3", []),
        ("algorithm: topk_error_feedback, dense_steps: 59, flush_on_save: true", []),
    ],
)
def test_a_setting_that_another_one_overrules_is_told_of(keys, idle, compressed, load):
    warnings = [each for each in load(compressed(keys)).warnings if "no effect" in each.message]
    assert [each.path for each in warnings] == [f"{PATH}.{key}" for key in idle]


def test_of_one_process_nothing_is_compressed_at_all(compressed, load):
    keys = "algorithm: powersgd, rank: 4, byte_share: 0.1"
    warnings = load(compressed(keys, ('"cpu:2"', '"cpu:1"'))).warnings
    assert [each.message for each in warnings if "no effect" in each.message] == [
        "one process has no gradients to exchange: no effect"
    ]


@pytest.mark.parametrize(("interval", "told"), [(6, True), (8, False)])
def test_checkpoints_more_often_than_exchanges_are_told_of(interval, told, compressed, load):
    job = compressed(
        "algorithm: local_updates", ("repeats:", f"checkpoint: {{interval_steps: {interval}}}\nrepeats:")
    )
    assert told == any("times what it would in bf16" in each.message for each in load(job).warnings)


def test_nccl_without_a_gpu_is_refused_before_ranks_start(compressed, errors_of, load):
    keys = "algorithm: bf16, allreduce_backend: nccl"
    (error,) = errors_of(compressed(keys))
    assert error.path == f"{PATH}.allreduce_backend"
    assert "NCCL needs GPUs" in error.message
    faults = {
        each.path
        for each in errors_of(
            compressed(keys, ('"cpu:2"', '"H100:2"'), ("launcher: local", "launcher: none"))
        )
    }
    assert f"{PATH}.allreduce_backend" not in faults


@pytest.mark.parametrize(
    ("keys", "said", "suggested"),
    [
        ("k_ratio: 0.01", "required key algorithm is missing", None),
        ("algoritm: bf16", "required key algorithm is missing", "algorithm in place of algoritm"),
        ("algorithm: topk", "not one of the allowed values", "topk_error_feedback"),
        ("algorithm: local", "not one of the allowed values", "local_updates"),
        ("algorithm: quantised_error_feedback", "not one of the allowed values", "quantized_error_feedback"),
        ("algorithm: zzz", "not one of the allowed values", None),
    ],
)
def test_what_is_no_algorithm_is_answered_with_those_there_are(keys, said, suggested, compressed, errors_of):
    (error,) = errors_of(compressed(keys))
    assert (error.path, error.message, error.suggestion) == (f"{PATH}.algorithm", said, suggested)
    assert error.allowed.split(", ")[-1] == "auto"
    assert "powersgd" in error.allowed
