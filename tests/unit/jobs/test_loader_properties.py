"""Whatever the text, the loader answers with a job or with ``JobErrors``."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.loader import load_job_text

JOB_FILE = Path(__file__).parents[3] / "include/jobs/char_gpt.yaml"
JOB = JOB_FILE.read_text(encoding="utf-8")
_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_FRAGMENTS = st.text(alphabet="abc:-{}[]&*!|>#'\"%@`,? \n\t\\0x1.eE~=\ufeff\ud800\x00\x85é", max_size=60)


def _load(text: str) -> None:
    try:
        load_job_text(text, Path("job.yaml"), project=None)
    except JobErrors as broken:
        errors = broken
    else:
        return
    assert errors.errors
    assert errors.render()
    assert errors.to_json()


@settings(max_examples=300, deadline=None)
@given(_FRAGMENTS)
def test_any_text(text):
    _load(text)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_job_with_any_piece_replaced_by_any_text(data):
    start = data.draw(st.integers(0, len(JOB)))
    end = data.draw(st.integers(start, min(len(JOB), start + 40)))
    _load(JOB[:start] + data.draw(_FRAGMENTS) + JOB[end:])


def _paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield from _paths(below, (*path, key))


_PATHS = [path for path in _paths(yaml.safe_load(JOB)) if path]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(_PATHS), _PLAIN), min_size=1, max_size=3))
def test_a_job_with_any_values_replaced_by_any_values(changes):
    job = yaml.safe_load(JOB)
    for path, value in changes:
        place = job
        for name in path[:-1]:
            place = place[name] if isinstance(place, dict) and name in place else None
        if isinstance(place, dict):
            place[path[-1]] = value
    _load(yaml.safe_dump(job, allow_unicode=True))


def test_the_job_itself_is_valid():
    load_job_text(JOB, JOB_FILE, project=None)


@pytest.mark.parametrize("options", [[], ["x"], ["--set"]])
def test_commands_with_dashes_are_no_secrets(options):
    text = JOB.replace("entrypoint: examples/char_gpt.py", f"command: {['python', *options]}")
    load_job_text(text, JOB_FILE, project=None)
