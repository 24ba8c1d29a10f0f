"""Gradients that no whole copies of a model would average are not compressed, and a job is told so."""

from __future__ import annotations

import pytest

RUNTIME = "workload:\n"
TOPK = "gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}"
LOCAL = "gradient_compression: {algorithm: local_updates}"
NO_K = ("params: [workload.stop.samples, variants.topk.gradient_compression.k_ratio]\n", "")


@pytest.mark.parametrize(("parallelism", "called"), [("full_shard", "FULL_SHARD"), ("zero3", "ZeRO-3")])
def test_compression_is_refused_where_there_are_no_copies_of_the_model(parallelism, called, spoil, errors_of):
    errors = errors_of(spoil((RUNTIME, f"{RUNTIME}  parallelism: {parallelism}\n")))
    (error,) = [error for error in errors if "topk" in error.path]
    assert error.path == "variants.topk.gradient_compression.algorithm"
    assert called in error.message
    assert "topk_error_feedback" in error.message
    assert "fsdp_replicated" in error.suggestion


def test_a_variant_that_brings_the_parallelism_itself_is_refused_too(spoil, errors_of):
    errors = errors_of(spoil((TOPK, f"set: {{workload.parallelism: zero3}}\n    {TOPK}")))
    assert "variants.topk.gradient_compression.algorithm" in {error.path for error in errors}


def test_replicated_shards_can_be_compressed_but_not_by_local_updates(spoil, errors_of):
    replicated = (RUNTIME, f"{RUNTIME}  parallelism: fsdp_replicated\n")
    assert not [error for error in errors_of(spoil(replicated)) if "topk" in error.path]
    (error,) = [error for error in errors_of(spoil(replicated, (TOPK, LOCAL), NO_K)) if "topk" in error.path]
    assert "only shards" in error.message


def test_a_session_does_not_take_on_a_model_whose_checkpoints_it_cannot_write(spoil, errors_of, load):
    (error,) = errors_of(spoil((RUNTIME, f"{RUNTIME}  parallelism: fsdp_replicated\n")))
    assert error.path == "workload.parallelism"
    assert "checkpoints of sharded models" in error.message
    assert load(spoil((RUNTIME, f"{RUNTIME}  parallelism: ddp\n"))).job.workload.parallelism == "ddp"


def test_an_unknown_parallelism_is_refused_with_the_allowed_ones(spoil, errors_of):
    (error,) = errors_of(spoil((RUNTIME, f"{RUNTIME}  parallelism: hsdp\n")))
    assert error.path == "workload.parallelism"
    assert "fsdp_replicated" in (error.allowed or "") + error.message
