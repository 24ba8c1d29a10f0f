"""The report says what the stages found, in one page that asks nothing of the network."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from seedance_ops.quality.results import GateResults
from seedance_ops.reporting.html import cell_lines
from seedance_ops.reporting.report import Report, build_report, failed_report, render_html

STAMP = {"job": "tiny", "git_commit": "0123abc", "cluster_id": "cluster-0123abc"}


class Page(HTMLParser):
    """Every tag with its attributes, and the ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def report_of(judged, stamp=STAMP, auto=None) -> Report:
    return build_report(
        judged.manifest,
        stamp,
        judged.tables,
        judged.table,
        judged.costs,
        judged.statistics,
        judged.gates,
        ledger=judged.ledger,
        auto=auto,
    )


@pytest.fixture(scope="session")
def report(judged) -> Report:
    return report_of(judged)


@pytest.fixture(scope="session")
def page(report) -> str:
    return render_html(report)


def test_the_verdict_line_names_what_was_accepted_and_what_was_not(report, page):
    assert report.headline == "bf16 accepted; topk rejected"
    assert "<h1>bf16 accepted; topk rejected</h1>" in page


def test_the_report_survives_its_json(report):
    assert Report.model_validate_json(report.as_json()) == report


def test_the_page_is_self_contained(page):
    for tag, attributes in Page(page).tags:
        assert tag not in ("script", "link", "iframe", "img", "object", "embed")
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert (attributes.get(name) or "#").startswith("#")
    assert not re.search(r"(?:https?:|@import|url\((?!#))", page)


def test_no_id_stands_twice_and_every_reference_has_its_target(page):
    ids = [attributes["id"] for _, attributes in Page(page).tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', page))
    assert used <= set(ids)


def test_the_page_can_be_read_by_a_screen_reader(page):
    tags = Page(page).tags
    assert ("html", {"lang": "en"}) in tags
    figures = [attributes for tag, attributes in tags if tag == "svg"]
    assert len(figures) == 8  # two of effects, Pareto, two waterfalls, two of losses, the strip
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in figures)


def test_two_renderings_are_the_same_bytes(report, page):
    assert render_html(report) == page


def test_the_strategy_table_has_the_baseline_and_its_changes(report):
    wire = [column.metric for column in report.columns].index("bytes_on_wire")
    cells = {row.variant: row.cells[wire] for row in report.strategies}
    assert cells["baseline"].change is None
    assert cells["topk"].change == pytest.approx(-0.94)
    assert cells["bf16"].n == 5


def test_with_a_target_the_cost_to_reach_it_leads(report):
    assert report.columns[0].metric == "usd_to_target_quality"
    assert report.effects[0].metric == "usd_to_target_quality"
    cells = {row.variant: row.cells[0] for row in report.strategies}
    assert cells["bf16"].n == 5
    assert cells["bf16"].mean is not None
    assert (cells["topk"].n, cells["topk"].mean, cells["topk"].change) == (0, None, None)
    assert "topk reached the target val_loss 3 in 0 of 5 runs: its cost to target quality is not judged." in (
        report.limits
    )
    assert not any(limit.startswith("bf16 reached") for limit in report.limits)


def test_without_a_target_no_column_asks_for_it(job_text, make_manifest, make_tables, judge_tables):
    manifest = make_manifest(job_text.replace(", target: 3.0", ""))
    report = report_of(judge_tables(manifest, make_tables(manifest)))
    assert report.columns[0].metric == "utilisation_mean"
    assert "usd_to_target_quality" not in {column.metric for column in report.columns}
    assert not any("target" in limit for limit in report.limits)


def test_the_study_costs_what_its_runs_cost(report, judged):
    assert report.study.usd == pytest.approx(judged.costs["usd_per_run"].sum())
    assert sum(run.usd for run in report.order) == pytest.approx(report.study.usd)


def test_runs_stand_in_the_order_in_which_they_started(report):
    assert [run.planned_order for run in report.order] == list(range(15))


def test_limits_name_n_the_detectable_difference_and_prices_their_source(report, page):
    assert any("5 per variant" in limit for limit in report.limits)
    assert any("80 % power" in limit for limit in report.limits)
    assert "a made-up list" in page
    assert "2026-01-02" in page


def test_hostile_words_stay_words(judged):
    hostile = '<script>alert("x")</script><img src=//evil.example onerror=x>'
    manifest = judged.manifest.model_copy(
        update={"source": hostile, "overrides": {"a.b": hostile}, "run_id": hostile}
    )
    gates = GateResults.model_validate(
        judged.gates.model_dump()
        | {
            "problems": [hostile],
            "verdicts": [{"variant": hostile, "outcome": "rejected", "reasons": [hostile]}],
        }
    )
    text = render_html(
        report_of(
            replace(judged, manifest=manifest, gates=gates),
            {hostile: hostile},
        )
    )
    assert not any(tag in ("script", "img") for tag, _ in Page(text).tags)
    assert "&lt;script&gt;" in text


def test_hostile_names_in_figures_stay_words(report):
    hostile = '"><script>x</script>$\\frac{1}{0}$'
    text = render_html(
        report.model_copy(
            update={
                "effects": tuple(effect.model_copy(update={"metric": hostile}) for effect in report.effects),
                "curves": tuple(curve.model_copy(update={"metric": hostile}) for curve in report.curves),
            }
        )
    )
    assert not any(tag == "script" for tag, _ in Page(text).tags)


def test_a_report_of_a_failure_names_the_problem(judged):
    report = failed_report(judged.manifest, {}, ["there is no table <costs>"])
    assert not report.accepted
    text = render_html(report)
    assert "there is no table &lt;costs&gt;" in text
    assert "Not judged" in text


def test_what_a_run_changed_stands_above_the_verdicts(judged):
    manifest = judged.manifest.model_copy(
        update={
            "overrides": {"workload.stop.samples": 160, "workload.args.flag": True},
            "replaced": {"workload.stop.samples": 960},
        }
    )
    text = render_html(report_of(replace(judged, manifest=manifest)))
    changed = text[text.index("This run changed:") : text.index("</header>")]
    assert re.sub(r"<[^>]+>", "", changed).strip() == (
        "This run changed: workload.stop.samples = 160 (the job's file says 960), workload.args.flag = true"
    )
    assert text.count("workload.stop.samples = 160") == 1


def test_a_run_that_changed_nothing_says_nothing_of_it(page):
    assert "This run changed" not in page


def test_every_cell_of_the_strategy_table_has_the_mean_before_its_change(report):
    wire = [column.metric for column in report.columns].index("bytes_on_wire")
    lines = {row.variant: cell_lines(row.cells[wire], report.columns[wire]) for row in report.strategies}
    assert lines["topk"] == ["720", "in\xa0every\xa0run", "−94\xa0%\xa0in\xa0every\xa0run", "n = 5"]
    assert lines["baseline"] == ["12\xa0k", "in\xa0every\xa0run", "n = 5"]
    for place, column in enumerate(report.columns):
        for row in report.strategies:
            first, *_ = cell_lines(row.cells[place], column)
            assert (first == "—") == (row.cells[place].mean is None)
            assert first[0] not in "+−"


def effects_at(report, **ends):
    return report.model_copy(update={"effects": (report.effects[0].model_copy(update=ends),)})


def drawn(text):
    return text[text.index("<h2>Effects</h2>") : text.index("<h2>Gates</h2>")].partition(">")[2]


def texts_of(figure):
    return re.findall(r"<text[^>]*>([^<]*)</text>", figure)


def test_a_change_beyond_the_axis_has_an_arrow_and_its_numbers(report):
    figure = drawn(render_html(effects_at(report, change=5.2, low=4.1, high=6.5, bound=None)))
    assert "+520 % [+410 %, +650 %]" in texts_of(figure)
    assert "An arrow leads beyond the axis" in figure


def test_an_interval_that_ends_beyond_the_axis_says_where(report):
    texts = texts_of(drawn(render_html(effects_at(report, change=1.0, low=-0.5, high=8.0, bound=None))))
    assert "to +800 %" in texts
    assert "+800 %" not in texts  # no tick: the axis ends before


def test_no_change_within_the_axis_has_an_arrow(report):
    figure = drawn(render_html(effects_at(report, change=1.0, low=0.5, high=2.9, bound=None)))
    assert "An arrow" not in figure
    assert not any(text.startswith("to ") for text in texts_of(figure))


def test_the_axis_reaches_as_far_as_a_bound(report):
    figure = drawn(render_html(effects_at(report, change=3.5, low=3.2, high=4.5, bound=5.0)))
    assert "An arrow" not in figure


def test_one_evaluation_per_run_is_a_dot(report, page):
    assert "val_loss over the samples seen, one line per run." in page
    curves = tuple(
        curve.model_copy(update={"samples": curve.samples[-1:], "values": curve.values[-1:]})
        for curve in report.curves
        if curve.metric == "val_loss"
    )
    text = render_html(report.model_copy(update={"curves": curves}))
    assert "val_loss over the samples seen, one dot per run." in text
    figure = text[text.index("<h2>Loss curves</h2>") :]
    assert re.search(r"M 0 3 \n?", figure)  # the marker's circle: 3 points in radius
    assert "24" in texts_of(figure)


def test_a_margin_is_a_band_and_not_being_worse_a_bound(job_text, make_manifest, make_tables, judge_tables):
    def effect_of(text):
        manifest = make_manifest(text)
        judged = judge_tables(manifest, make_tables(manifest))
        found = {(effect.metric, effect.variant): effect for effect in report_of(judged).effects}
        return found["val_loss", "bf16"], judged.statistics.level("baseline", "val_loss").mean

    equivalent, mean = effect_of(job_text)
    assert (equivalent.bound, equivalent.margin) == (None, pytest.approx(0.05 / mean))
    not_worse, _ = effect_of(job_text.replace("equivalent_within", "non_inferior_within"))
    assert (not_worse.bound, not_worse.margin) == (pytest.approx(0.05 / mean), None)
