"""Where "not worse than a margin" would mean nothing, the gate is refused at its line."""

from __future__ import annotations

import pytest

from seedance_ops.jobs.errors import JobErrors

GATE = "{metric: val_loss, compared_to: baseline, equivalent_within: {absolute: 0.05}}"


def test_a_metric_without_a_better_direction_is_refused(load, valid):
    declared = valid.replace(
        "quality: {metric: val_loss, better: lower}",
        "quality: {metric: val_loss, better: lower}\n"
        '  metrics: [{name: tokens_seen, unit: "1", better: none, aggregation: last}]',
    )
    gate = "{metric: tokens_seen, compared_to: baseline, non_inferior_within: {absolute: 1}}"
    with pytest.raises(JobErrors, match="has no better direction") as caught:
        load(declared.replace(GATE, gate))
    (error,) = caught.value.errors
    assert (error.path, error.place.line) == ("gates.0.metric", 22)
    assert "equivalent_within" in error.render()


@pytest.mark.parametrize(("share", "refused"), [("1.0", True), ("1.5", True), ("0.99", False)])
def test_a_margin_that_lets_a_metric_fall_to_nothing_is_refused(load, valid, share, refused):
    text = valid.replace(
        GATE,
        "{metric: samples_per_s, compared_to: baseline, non_inferior_within: {relative: %s}}" % share,  # noqa: UP031
    )
    if not refused:
        assert load(text).job.gates[0].non_inferior_within.relative == float(share)
        return
    with pytest.raises(JobErrors, match="demands nothing") as caught:
        load(text)
    assert caught.value.errors[0].path == "gates.0.non_inferior_within.relative"
