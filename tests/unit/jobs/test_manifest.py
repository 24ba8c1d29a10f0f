"""Every run has a place of its own in the object store."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.jobs.manifest import run_key

IDS = st.text(st.sampled_from("aB1._-~:+ /é"), max_size=12) | st.text(max_size=300)


def test_an_id_that_is_a_fit_name_stays_readable():
    assert run_key("manual__2026-01-02") == "manual__2026-01-02"
    assert run_key("scheduled__2026-01-02T03:04:05+00:00").startswith("scheduled__2026-01-02T03-04-05-00-00-")


@given(IDS, IDS)
def test_two_ids_never_share_a_key_nor_does_a_key_taken_as_an_id(one, other):
    assert (run_key(one) == run_key(other)) is (one == other)
    if run_key(one) != one:
        assert run_key(run_key(one)) != run_key(one)


@pytest.mark.parametrize("run_id", ["manual__a-0123abcd", "a~b", "..", ".", ""])
def test_an_id_that_could_be_taken_for_something_else_is_hashed(run_id):
    assert run_key(run_id) != run_id
    assert run_key(run_key(run_id)) != run_key(run_id)


@given(IDS)
def test_a_key_is_one_path_segment(run_id):
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,250}", run_key(run_id)) or run_key(run_id) == run_id
    assert run_key(run_id) not in {".", "..", ""}
