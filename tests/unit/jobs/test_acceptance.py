"""A job that no run can satisfy is told before it is paid for."""

from __future__ import annotations

import pytest

ERROR = "{metric: val_loss, compared_to: baseline, equivalent_within: {absolute: 0.05}}"
WARNING = ERROR.replace("}}", "}, severity: warning}")
OF_TOPK = ERROR.replace("}}", "}, variants: [topk]}")


@pytest.fixture
def warned(spoil, load):
    """The warnings about ``accept`` of the valid job with other gates and a third variant."""

    def of(accept, *gates):
        listed = "\n".join(f"  - {gate}" for gate in gates)
        text = spoil(
            (f"gates:\n  - {ERROR}", f"gates:\n{listed}" if gates else "gates: []"),
            (
                "repeats:",
                f"  bf16: {{gradient_compression: {{algorithm: bf16}}}}\naccept: {accept}\nrepeats:",
            ),
        )
        return [warning for warning in load(text).warnings if warning.path == "accept"]

    return of


@pytest.mark.parametrize(
    ("accept", "gates"),
    [("any", []), ("any", [WARNING]), ("all", []), ("all", [WARNING]), ("all", [OF_TOPK])],
)
def test_what_can_never_be_accepted_is_a_warning(accept, gates, warned):
    (warning,) = warned(accept, *gates)
    assert f"{accept} can never hold" in warning.message
    assert "bf16" in warning.message
    assert "accept: report" in warning.suggestion


@pytest.mark.parametrize(
    ("accept", "gates"),
    [("any", [OF_TOPK]), ("any", [WARNING, ERROR]), ("all", [ERROR]), ("report", []), ("report", [WARNING])],
)
def test_what_can_be_accepted_is_none(accept, gates, warned):
    assert warned(accept, *gates) == []


@pytest.mark.parametrize("accept", ["any", "all"])
def test_the_baseline_is_nothing_to_accept(accept, warned):
    of_baseline = "{metric: val_loss, at_most: 3, variants: [baseline]}"
    (warning,) = warned(accept, of_baseline)
    assert "applies to topk, bf16" in warning.message


def test_a_bound_that_only_warns_of_the_baseline_keeps_no_run_from_success(warned):
    bound = "{metric: val_loss, at_most: 3, severity: warning}"
    assert warned("all", ERROR, bound) == []
    assert warned("any", ERROR, bound) == []


def test_a_job_of_a_baseline_alone_can_never_be_accepted(valid, load):
    text = valid.partition("  topk:")[0] + "repeats: {seeds: 5}\ngates: [{metric: val_loss, at_most: 3}]\n"
    (warning,) = [warning for warning in load(text).warnings if warning.path == "accept"]
    assert "applies to any variant but the baseline" in warning.message
