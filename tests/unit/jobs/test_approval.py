"""The block that says how a person is asked."""

from __future__ import annotations

import pytest

from seedance_ops.jobs.approval import ApprovalTerms
from seedance_ops.jobs.errors import JobErrors

GATE = "equivalent_within: {absolute: 0.05}"
ASKS = (GATE, f"{GATE}, severity: approval")
BLOCK = ("repeats:", "approval: {deadline: 2h}\nrepeats:")


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400.0), ("24h", 86_400.0), ("3d", 259_200.0)])
def test_a_deadline_has_its_unit(text, seconds):
    assert ApprovalTerms(deadline=text).deadline_s == seconds


def test_a_block_that_asks_nobody_is_a_warning(spoil, load):
    assert [warning.path for warning in load(spoil(BLOCK)).warnings] == ["approval"]
    assert load(spoil(ASKS, BLOCK)).warnings == load(spoil(ASKS)).warnings


@pytest.mark.parametrize("accept", ["any", "all"])
def test_a_gate_that_asks_lets_a_run_succeed(accept, spoil, load):
    text = spoil(ASKS, ("repeats:", f"accept: {accept}\nrepeats:"))
    assert [warning for warning in load(text).warnings if warning.path == "accept"] == []


@pytest.mark.parametrize(
    "block", ["{deadline: 24}", "{deadline: soon}", "{on_timeout: accept}", "{assignees: []}"]
)
def test_what_is_no_deadline_or_answer_is_refused(block, spoil, load):
    with pytest.raises(JobErrors):
        load(spoil(ASKS, ("repeats:", f"approval: {block}\nrepeats:")))
