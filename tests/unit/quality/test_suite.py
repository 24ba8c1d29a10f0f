"""The suite of data expectations: the built-in one, a project's own, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from seedance_ops.jobs.errors import JobErrors
from seedance_ops.quality.suite import Expectation, Suite, built_in_text
from seedance_ops.quality.suite_files import load_suite, load_suite_text

CHECKOUT = Path(__file__).resolve().parents[3]
FINITE = "expectations: [{type: expect_steps_to_be_finite, severity: warning}]\n"
PRICES = "expectations: [{type: expect_prices_to_be_sane}]\n"


def types(suite):
    return [entry.type for entry in suite.expectations]


def project_with(tmp_path, **files):
    folder = tmp_path / "include/expectations"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_what_ships_with_the_project_is_what_is_built_in():
    assert (CHECKOUT / "include/expectations/data.yaml").read_text(encoding="utf-8") == built_in_text()


def test_the_built_in_suite_has_every_kind_of_expectation():
    known = {kind.model_fields["type"].annotation.__args__[0] for kind in Expectation.__args__[0].__args__}
    assert set(types(load_suite(None))) == known


def test_a_project_without_files_has_the_built_in_one(tmp_path):
    assert load_suite(tmp_path) == load_suite(None)
    assert load_suite(project_with(tmp_path)) == load_suite(None)


def test_a_projects_files_replace_it_and_are_one_suite_in_the_order_of_their_names(tmp_path):
    project = project_with(tmp_path, b=PRICES, a=FINITE)
    assert types(load_suite(project)) == ["expect_steps_to_be_finite", "expect_prices_to_be_sane"]


def test_its_hash_is_of_what_it_says_and_not_of_how(tmp_path):
    laid_out = "# the same\nexpectations:\n  - type: expect_prices_to_be_sane\n    severity: error\n"
    one, other = (load_suite_text(text, Path("data.yaml")) for text in (PRICES, laid_out))
    assert one.sha256 == other.sha256
    assert one.sha256 != load_suite_text(FINITE, Path("data.yaml")).sha256
    assert Suite.model_validate_json(one.model_dump_json()).sha256 == one.sha256


@pytest.mark.parametrize(
    ("text", "place", "message", "suggestion"),
    [
        (
            "expectations:\n  - {type: expect_steps_to_be_finit}\n",
            "2:12",
            "expectations.0.type: not one of the allowed values",
            "expect_steps_to_be_finite",
        ),
        (
            "expectations:\n  - {type: expect_steps_to_be_finite, kwargs: {mostyl: 0.9}}\n",
            "2:48",
            "unknown key",
            "mostly",
        ),
        (
            "expectations:\n  - {type: expect_prices_to_be_sane, severty: warning}\n",
            "2:38",
            "unknown key",
            "severity",
        ),
        (
            "expectations:\n  - type: expect_steps_to_be_finite\n    kwargs: {columns: [step_tiem_s]}\n",
            "3:24",
            "not one of the allowed values",
            "step_time_s",
        ),
        ("expectation: []\n", "1:1", "unknown key", "expectations"),
        ("expectations: []\n", "1:15", "needs at least 1 entry", None),
        ("expectations:\n  - {severity: error}\n", "2:5", "required key type is missing", None),
        (
            "expectations:\n  - {type: expect_prices_to_be_sane, severity: fatal}\n",
            "2:48",
            "not one of the allowed values",
            None,
        ),
        (
            "expectations:\n  - {type: expect_steps_to_be_monotone, kwargs: {mostly: 1.5}}\n",
            "2:58",
            "less than or equal to 1",
            None,
        ),
        ("- 1\n", "1:1", "a suite is a mapping", None),
        ("", "1:1", "a suite is a mapping", None),
        ("expectations: &a [*a]\n", "1:19", "alias", None),
    ],
)
def test_a_fault_is_named_with_its_place_and_the_nearest_name(text, place, message, suggestion):
    with pytest.raises(JobErrors) as raised:
        load_suite_text(text, Path("data.yaml"))
    rendered = raised.value.render()
    assert f"data.yaml:{place}:" in rendered
    assert message in rendered
    assert suggestion is None or f"try: {suggestion}" in rendered


def test_the_faults_of_all_files_are_named_at_once(tmp_path):
    project = project_with(tmp_path, a="expectations: 1\n", b=PRICES, c="expectations: []\n")
    with pytest.raises(JobErrors) as raised:
        load_suite(project)
    assert [error.place.source.name for error in raised.value.errors] == ["a.yaml", "c.yaml"]
