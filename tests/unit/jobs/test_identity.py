"""Hashes follow the meaning of a job; names are labels of at most 63 characters."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.jobs.identity import job_hash, launch_name


def test_the_form_of_the_yaml_does_not_matter(load, valid, spoil):
    again = load(spoil(("args: {layers: 2}", "args:\n    layers: 2  # two\n  launch: torchrun")))
    assert job_hash(load(valid).job, None) == job_hash(again.job, None)


def test_values_code_and_image_matter(load, valid, spoil):
    job = load(valid).job
    other = load(spoil(("layers: 2", "layers: 3"))).job
    workload = job.workload.model_copy(update={"image": "registry/image@sha256:abc"})
    with_image = job.model_copy(update={"workload": workload})
    hashes = {
        job_hash(job, None),
        job_hash(other, None),
        job_hash(with_image, None),
        job_hash(job, "abc"),
    }
    assert len(hashes) == 4


@given(
    st.text(max_size=80),
    st.text(max_size=80),
    st.text(max_size=60),
    st.integers(0, 2**31),
    st.integers(1, 999),
)
def test_any_launch_has_a_valid_name(dag, run_id, variant, seed, submission):
    name = launch_name(
        dag=dag, run_id=run_id, variant=variant, seed=seed, spec_hash="x", submission=submission
    )
    assert re.fullmatch(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", name)


def test_a_name_is_readable_and_differs_by_every_part():
    base = {"dag": "char-gpt", "run_id": "r", "variant": "topk", "seed": 3, "spec_hash": "h", "submission": 1}
    name = launch_name(**base)
    assert name.startswith("char-gpt-topk-s3-1-")
    for changed in (
        {"dag": "d"},
        {"run_id": "q"},
        {"variant": "v"},
        {"seed": 4},
        {"spec_hash": "i"},
        {"submission": 2},
    ):
        assert launch_name(**{**base, **changed}) != name
