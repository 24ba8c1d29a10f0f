"""The pull-request comment: tables that GitHub renders, and no word that does anything."""

from __future__ import annotations

import re

import pytest

from seedance_ops.reporting.markdown import escaped, render_markdown
from tests.unit.reporting.test_report import report_of

HOSTILE = "a|b `c` <script>alert(1)</script> @team ![x](https://evil.example/p.png) #12 *d*\n| e"


@pytest.fixture(scope="module")
def text(judged):
    return render_markdown(report_of(judged))


def test_it_begins_with_the_verdict_its_effect_and_its_margin(text):
    lines = text.splitlines()
    assert lines[0] == "### bf16 accepted; topk rejected"
    answer = next(line for line in lines if line.startswith("- ✅ bf16 is accepted:"))
    assert re.search(
        r"usd\\_per\\_run .*% .* at 95 %, wanted ≤ 0 %; val\\_loss .* at 90 %, wanted within ±0.05", answer
    )


def test_every_row_of_a_table_has_as_many_cells_as_its_head(text):
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 4
    for head, rule, *rows in tables:
        cells = len(re.findall(r"(?<!\\)\|", head))
        assert re.fullmatch(r"\|( -{3}:? \|)+", rule)
        assert all(len(re.findall(r"(?<!\\)\|", row)) == cells for row in (rule, *rows))


def test_words_stay_words():
    shown = escaped(HOSTILE)
    assert "\n" not in shown
    assert "<" not in shown
    assert not re.search(r"(?<!\\)[|`*\[\]!#]", shown)
    assert "@team" not in shown  # a zero-width space: nobody is called
    assert "://" not in shown


def test_hostile_words_do_not_break_the_comment(judged):
    report = report_of(judged, {HOSTILE: HOSTILE}).model_copy(
        update={"job": HOSTILE, "problems": (HOSTILE,), "run_id": HOSTILE}
    )
    text = render_markdown(report)
    assert "<script" not in text
    assert re.findall(r"<[^>]+>", text.replace("<br>", "")) == [
        "<details>",
        "<summary>",
        "</summary>",
        "</details>",
    ]


def test_a_comment_never_outgrows_what_github_takes(judged):
    report = report_of(judged).model_copy(update={"limits": ("long " * 500,) * 50})
    text = render_markdown(report)
    assert len(text) < 65_536
    assert "#### Gates" in text
    many = report.model_copy(update={"stamp": {f"key{n}": "v" * 200 for n in range(400)}})
    assert len(render_markdown(many)) < 65_536
