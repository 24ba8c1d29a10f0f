"""A job that states a machine of its own gets it beside the rented price, on page, in data and in comment."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from seedance_ops.jobs.errors import JobErrors
from seedance_ops.reporting.html import render_html
from seedance_ops.reporting.markdown import render_markdown
from seedance_ops.reporting.report_model import Report
from tests.unit.reporting.conftest import judge_run, manifest_of
from tests.unit.reporting.test_golden_report import JOB, PRICE, tables_of
from tests.unit.reporting.test_report import report_of

# The machine of tests/unit/cost/test_owned_over_runs.py: 0.50 and 0.10 USD per accelerator·h.
OWNED = """\
economics:
  runs_per_month: 10
  owned: {accelerators: 8, purchase_usd: 80000, annual_depreciation_rate: 0.25,
    effective_hours_per_year: 5000, power_w: 4000, pue: 1.25, tariff_usd_per_kwh: 0.16}
"""


def judged_of(text):
    manifest = manifest_of(text)
    manifest = manifest.model_copy(update={"prices": dict.fromkeys(manifest.job.variants, PRICE)})
    return replace(judge_run(manifest, tables_of(manifest)), manifest=manifest)


@pytest.fixture(scope="module")
def report():
    return report_of(judged_of(JOB + OWNED))


def test_each_variant_owned_and_rented_by_hand(report):
    """Three runs of 0.001 PFLOPS·h; 0.18333 accelerator·h in all, the fast variant's 0.14667."""
    found = {row.variant: row for row in report.owned}
    assert list(found) == ["baseline", "fast"]
    assert found["baseline"].owned.estimate == pytest.approx(0.6 * 0.55 / 3 / 0.003)
    assert found["fast"].owned.estimate == pytest.approx(0.6 * 0.44 / 3 / 0.003)
    assert found["fast"].power_source == "stated"


def test_rented_is_the_whole_runs_unit_cost_scaled(report):
    for row in report.owned:
        whole_run = report.bill.unit_costs[row.variant][0]
        assert whole_run.name == "usd_per_tflops_hour_whole_run"
        for name in ("estimate", "low", "high"):
            assert getattr(row.rented, name) == pytest.approx(1000 * getattr(whole_run, name))


def test_it_survives_its_json(report):
    assert Report.model_validate_json(report.as_json()) == report


def test_the_page_has_both_prices_and_where_owning_begins_to_pay(report):
    page = render_html(report)
    table = page[page.index("Own hardware beside rented</h3>") :]
    table = table[: table.index("</table>")]
    for shown in ("36.67", "110", "1471", "stated", "made-up, list", "at 5000 h a year"):
        assert shown in table, shown
    assert page.count("<table") == page.count("<caption>")


def test_the_comment_has_the_same(report):
    text = render_markdown(report)
    section = text[text.index("#### Own hardware beside rented") :]
    rows = section.split("\n\n")[1].splitlines()
    assert len(rows) == 4  # head, rule, two variants
    assert "36.67" in rows[2]
    assert "1471" in rows[2]
    assert "owned at 5000 h a year" in rows[2]


def test_a_job_that_states_none_gets_none():
    report = report_of(judged_of(JOB))
    assert report.owned == ()
    assert "Own hardware" not in render_html(report)
    assert "Own hardware" not in render_markdown(report)


def test_a_variant_on_other_accelerators_is_told_apart():
    text = (JOB + OWNED).replace(
        "{baseline: {}, fast: {gradient_compression: {algorithm: bf16}}}",
        '{baseline: {}, fast: {set: {resources.accelerators: "A100:2"}}}',
    )
    report = report_of(judged_of(text))
    assert {row.variant: row.cheaper for row in report.owned} == {
        "baseline": "owned",
        "fast": "not_judgeable",
    }
    assert re.search("other accelerators than the baseline", render_html(report))


def test_without_stated_or_measured_power_the_page_says_so():
    report = report_of(judged_of(JOB + OWNED.replace("power_w: 4000, ", "")))
    assert {row.power.reason for row in report.owned} == {"not_measured"}
    assert "economics.owned states no power_w" in render_html(report)


def test_the_machines_figures_are_held_to_their_bounds_at_their_place():
    with pytest.raises(JobErrors, match=r"economics\.owned\.pue"):
        manifest_of(JOB + OWNED.replace("pue: 1.25", "pue: 0.8"))
