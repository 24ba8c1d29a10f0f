"""The page of a large and hostile report is small, closed, ordered and labelled."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from seedance_ops.reporting.html import render_html
from seedance_ops.reporting.report_model import Curve
from tests.unit.reporting.conftest import BYTES, FINAL_LOSS, JOB, judge_run, manifest_of, tables_of
from tests.unit.reporting.test_report import report_of

HOSTILE = "<script>alert(1)</script>"
MOST_BYTES = 1_000_000


class Page(HTMLParser):
    """Tags with attributes in order, and what encloses each figure."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def report():
    """10 variants × 20 seeds, with as many points per curve as a run of 10,000 steps leaves."""
    names = [f"topk-{n}" for n in range(1, 10)]
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setitem(BYTES, name, 60)
            patch.setitem(FINAL_LOSS, name, 2.95)
        variants = "".join(
            f"  {name}: {{gradient_compression: {{algorithm: topk_error_feedback, k_ratio: 0.0{n}}}}}\n"
            for n, name in enumerate(names, start=1)
        )
        head, rest = JOB.split("  bf16:")
        text = (head + variants + rest[rest.index("repeats:") :]).replace("seeds: 5", "seeds: 20")
        manifest = manifest_of(text.replace("description: Made up", f'description: "{HOSTILE}"'))
        judged = judge_run(manifest, tables_of(manifest))
    curves = tuple(
        Curve(
            metric=metric,
            variant=run.variant,
            seed=run.seed,
            samples=tuple(4000.0 * point + 123.0 for point in range(20)),
            values=tuple(3.0 + 1.0 / (point + run.seed + 1.2345) for point in range(20)),
        )
        for metric in ("train_loss", "val_loss")
        for run in manifest.runs
    )
    return report_of(judged).model_copy(update={"curves": curves})


@pytest.fixture(scope="module")
def page(report):
    return render_html(report)


def test_it_stays_within_a_megabyte(page):
    assert len(page.encode()) <= MOST_BYTES


def test_it_has_no_script_and_refers_to_nothing_outside(page):
    assert "<script" not in page
    assert "default-src 'none'; style-src 'unsafe-inline'" in page[: page.index("<style>")]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    for tag, attributes in Page(page).tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href", "srcset", "action"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, name)


def test_every_variant_name_is_escaped(report):
    def renamed(text):
        return text.replace("topk-1", HOSTILE) if isinstance(text, str) else text

    data = _mapped(report.model_dump(), renamed)
    text = render_html(type(report).model_validate(data))
    assert "<script" not in text
    assert text.count("&lt;script&gt;") > 50


def test_every_figure_is_an_image_with_its_numbers_in_words(page):
    figures = [attributes for tag, attributes in Page(page).tags if tag == "svg"]
    assert len(figures) == 15
    for attributes in figures:
        assert attributes["role"] == "img"
        assert re.search(r"\d", attributes["aria-label"])
    assert page.count("<figcaption>") == len(figures)


def test_headings_descend_one_level_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in Page(page).tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_sections_stand_in_the_order_that_readers_want(page):
    titles = re.findall(r"<h2[^>]*>([^<]+)</h2>", page)
    wanted = ["Strategies", "Effects", "Cost against quality", "Where the money goes", "Loss curves"]
    wanted += ["Runs, in the order of start", "How far to trust it", "Provenance"]
    assert [title for title in titles if title in wanted] == wanted


def test_every_table_has_a_caption_and_every_scrolling_region_a_name_and_the_keyboard(page):
    assert page.count("<table") == page.count("<caption>")
    regions = [a for tag, a in Page(page).tags if tag == "div" and "scroll" in (a.get("class") or "")]
    assert regions
    assert all(a["tabindex"] == "0" and a["role"] == "region" and a["aria-label"] for a in regions)


def test_ten_variants_differ_in_colour_or_dash(page):
    figure = next(
        found for found in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if "train_loss over" in found
    )
    legend = figure[figure.index("legend_1") :]
    strokes = {
        (re.sub(r"[\d.]+ [\d.]+ ", "", style))
        for style in re.findall(r'style="(fill: none;[^"]*stroke: #[^"]*)"', legend)
    }
    assert len(strokes) == 10


def _mapped(data, change):
    if isinstance(data, dict):
        return {change(key): _mapped(value, change) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_mapped(value, change) for value in data]
    return change(data)
