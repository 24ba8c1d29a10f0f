"""A job may ask of the local launcher only what one machine without containers can give."""

from __future__ import annotations

import pytest

from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.loader import load_job_text

COMPRESSION = "gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}"
PARAMS = ", variants.topk.gradient_compression.k_ratio"
MESSAGE = "the local launcher runs on one machine without containers"

# Where it stands in the job (what is replaced, by what), the dotted path, the same as a variant's override.
BEYOND = {
    "nodes": (("launcher: local", "launcher: local\nnum_nodes: 2"), "num_nodes", "num_nodes: 2"),
    "image": (("args:", "image: a/b:1\n  args:"), "workload.image", "workload.image: a/b:1"),
    "inputs": (
        ("args:", "inputs: {text: {uri: s3://a/b, mount: /text}}\n  args:"),
        "workload.inputs",
        "workload.inputs.text: {uri: s3://a/b, mount: /text}",
    ),
    "shm_size": (('"cpu:2"', '"cpu:2", shm_size: 1Gi'), "resources.shm_size", "resources.shm_size: 1Gi"),
}


@pytest.mark.parametrize(("change", "path", "_"), BEYOND.values(), ids=BEYOND)
def test_what_it_would_ignore_is_refused(change, path, _, spoil, errors_of):
    (error,) = errors_of(spoil(change))
    assert error.path == path
    assert error.message.startswith(MESSAGE)


@pytest.mark.parametrize(("_", "path", "override"), BEYOND.values(), ids=BEYOND)
def test_so_is_an_override_of_a_variant(_, path, override, spoil, errors_of):
    text = spoil((COMPRESSION, f"set: {{{override}}}"), (PARAMS, ""))
    errors = [error for error in errors_of(text + "unequal_work: allowed\n") if MESSAGE in error.message]
    assert [error.path for error in errors] == [f"variants.topk.set.{override.partition(': ')[0]}"]


def test_a_profile_written_inline_is_known_without_a_project(spoil, project):
    inline = ("launcher: local", "launcher: {kind: local, price: local-cpu}\nnum_nodes: 2")
    with pytest.raises(JobErrors, match=MESSAGE):
        load_job_text(spoil(inline), project.jobs_folder / "job.yaml", project=None)


def test_a_named_profile_needs_the_project_to_be_known(spoil, project):
    text = spoil(("launcher: local", "launcher: local\nnum_nodes: 2"))
    assert load_job_text(text, project.jobs_folder / "job.yaml", project=None).job.num_nodes == 2


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("HF_TOKEN: swordfish", "launchers.local.env.HF_TOKEN: a secret written as a value"),
        ("HUB: hf_" + "a" * 34, "launchers.local.env.HUB: a secret written as a value"),
        (
            "SEEDANCE_SEED: '3'",
            "launchers.local.env.SEEDANCE_SEED: SEEDANCE_… variables are set by the launcher",
        ),
    ],
)
def test_a_profiles_env_holds_neither_secrets_nor_our_variables(env, message, project, errors_of, valid):
    project.launchers_file.write_text(
        f"launchers:\n  local:\n    kind: local\n    price: local-cpu\n    env:\n      {env}\n"
    )
    (error,) = errors_of(valid)
    assert f"{project.launchers_file}:6:" in error.message
    assert message in error.message
    assert "swordfish" not in error.message
    assert "aaaa" not in error.message


def test_so_does_a_profile_written_inline(spoil, errors_of):
    profile = "launcher: {kind: local, price: local-cpu, env: {SEEDANCE_SEED: '3', HF_TOKEN: swordfish}}"
    assert [error.path for error in errors_of(spoil(("launcher: local", profile)))] == [
        "launcher.env.SEEDANCE_SEED",
        "launcher.env.HF_TOKEN",
    ]
