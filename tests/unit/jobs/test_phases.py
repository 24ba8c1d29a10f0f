"""A screening must be shorter than a run, stop alike for all, and not contradict the repeats."""

from __future__ import annotations

import pytest

from seedance_ops.jobs.overrides import apply_overrides

PHASES = "repeats: {seeds: 5}"


def with_phases(text, samples=96, top=1, more=""):
    phases = f"phases: {{screen: {{samples: {samples}}}, confirm: {{top: {top}, seeds: 4}}}}"
    return text.replace(PHASES, phases + more)


def test_the_confirming_seeds_are_the_repeats_also_after_a_round_trip(load, valid):
    job = load(with_phases(valid)).job
    assert job.repeats.seeds == 4
    again = type(job).model_validate_json(job.model_dump_json(by_alias=True))
    assert again == job


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (
            lambda valid: with_phases(valid, more="\n" + PHASES),
            "repeats.seeds",
            "phases.confirm.seeds says 4",
        ),
        (lambda valid: with_phases(valid, samples=960), "phases.screen.samples", "must be shorter"),
        (
            lambda valid: with_phases(valid, samples=8),
            "phases.screen.samples",
            "less than one step of baseline",
        ),
        (
            lambda valid: with_phases(valid).replace(
                "  baseline: {}\n", "  baseline: {}\n  long: {set: {workload.stop.samples: 1920}}\n"
            ),
            "variants.long.set.workload.stop.samples",
            "every variant stops alike",
        ),
    ],
)
def test_what_cannot_work_is_named_where_it_stands(errors_of, valid, text, path, message):
    errors = errors_of(text(valid))
    assert any(error.path == path and message in error.message for error in errors), errors


def test_a_screening_that_stops_nobody_is_warned_of(load, valid):
    warnings = load(with_phases(valid, top=2)).warnings
    assert any(warning.path == "phases.confirm.top" for warning in warnings)


def test_the_confirming_seeds_can_be_a_param_and_the_repeats_cannot(load, errors_of, valid):
    offered = "params: [workload.stop.samples"
    text = with_phases(valid).replace(offered, "params: [phases.confirm.seeds, workload.stop.samples")
    job = load(text).job
    assert apply_overrides(job, {"phases.confirm.seeds": 7}).repeats.seeds == 7
    wrong = with_phases(valid).replace(offered, "params: [repeats.seeds, workload.stop.samples")
    assert errors_of(wrong)[0].suggestion == "phases.confirm.seeds"
