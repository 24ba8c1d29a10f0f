"""A job that compresses between nodes has several, and one kind of device, or is told so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

CATALOGUE = Path(__file__).resolve().parents[3] / "include" / "catalog" / "hardware.yaml"
TOPK = "gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}"
PATH = "variants.topk.gradient_compression.two_levels"


def with_keys(keys: str) -> tuple[str, str]:
    return TOPK, f"gradient_compression: {{k_ratio: 0.01, two_levels: true, {keys}}}"


AS_TOPK = with_keys("algorithm: topk_error_feedback")


def test_one_node_has_nothing_to_compress_between(spoil, errors_of):
    (error,) = errors_of(spoil(AS_TOPK))
    assert error.path == PATH
    assert "all 2 ranks are on one node" in error.message
    assert "num_nodes" in error.suggestion


def test_one_process_is_no_fault(spoil, load):
    """As for every compressor: it is warned of, and the same job trains on more."""
    job = load(spoil(AS_TOPK, ('"cpu:2"', '"cpu:1"'))).job
    assert job.resolve("topk").compression.two_levels


def test_a_variant_that_brings_its_nodes_is_taken_for_what_it_is(spoil, errors_of):
    """The local launcher has one node, whatever is said; of two levels nothing is wrong then."""
    keys = f"set: {{num_nodes: 2}}\n    {AS_TOPK[1]}"
    assert PATH not in {error.path for error in errors_of(spoil((TOPK, keys)))}


def test_several_devices_are_refused(spoil, errors_of, project):
    shutil.copy(CATALOGUE, project.hardware_file)
    devices = with_keys("algorithm: mixed_precision, device: [a100, mi250x], allreduce_backend: gloo")
    messages = [error.message for error in errors_of(spoil(devices)) if error.path == PATH]
    assert any("gradient_compression.device lists 2" in message for message in messages)


def test_shards_of_a_node_are_compressed_between_nodes_already(spoil, errors_of):
    errors = errors_of(spoil(AS_TOPK, ("workload:\n", "workload:\n  parallelism: fsdp_replicated\n")))
    messages = [error.message for error in errors if error.path == PATH]
    assert any("within the node already" in message for message in messages)


@pytest.mark.parametrize("algorithm", ["powersgd", "random_k", "bf16", "local_updates"])
def test_other_algorithms_do_not_have_the_key(algorithm, spoil, errors_of):
    keys = f"gradient_compression: {{algorithm: {algorithm}, two_levels: true}}"
    no_k = ("params: [workload.stop.samples, variants.topk.gradient_compression.k_ratio]\n", "")
    (error,) = errors_of(spoil((TOPK, keys), no_k))
    assert error.path == PATH
    assert "unknown key" in error.message
