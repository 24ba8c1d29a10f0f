"""Throughput against quality: dominated points by hand, and the report's two points as published."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from seedance_ops.jobs.loader import load_job_text
from seedance_ops.quality.statistics import MetricLevel, Statistics
from seedance_ops.reporting.figure_front import write_front
from seedance_ops.reporting.throughput_front import published_points, throughput_front
from seedance_ops.stats.outcomes import Interval, NotJudgeable
from tests.unit.reporting.conftest import JOB

PROJECT = Path(__file__).resolve().parents[3]


def level(variant, metric, unit, mean, half):
    interval = (
        Interval(estimate=mean, low=mean - half, high=mean + half)
        if half is not None
        else NotJudgeable(reason="one run")
    )
    return MetricLevel(variant=variant, metric=metric, unit=unit, n=5, mean=mean, sd=None, interval=interval)


def statistics(places, throughput="achieved_tflops", unit="TFLOPS"):
    return Statistics(
        baseline="baseline",
        levels=tuple(
            one
            for variant, across, loss in places
            for one in (
                level(variant, throughput, unit, across, 0.5),
                level(variant, "val_loss", "1", loss, None),
            )
        ),
        comparisons=(),
    )


@pytest.fixture
def job():
    return load_job_text(JOB, Path("tiny.yaml"), project=None).job


def test_who_is_slower_and_worse_is_dominated_and_who_is_only_one_of_them_is_not(job):
    places = [("baseline", 10.0, 2.0), ("bf16", 12.0, 2.1), ("topk", 11.0, 2.2)]
    front = throughput_front(job, "r", statistics(places))
    assert {p.variant: p.dominated_by for p in front.points} == {
        "baseline": (),
        "bf16": (),
        "topk": ("bf16",),
    }
    assert (front.points[0].throughput.low, front.points[0].throughput.high) == (9.5, 10.5)
    assert front.points[0].quality.low is None


def test_quality_that_is_better_higher_is_turned_round(job):
    quality = job.workload.quality.model_copy(update={"better": "higher"})
    job = job.model_copy(update={"workload": job.workload.model_copy(update={"quality": quality})})
    places = [("baseline", 10.0, 2.0), ("bf16", 12.0, 2.1), ("topk", 11.0, 2.2)]
    front = throughput_front(job, "r", statistics(places))
    assert [p.variant for p in front.points if p.dominated] == ["baseline"]


def test_samples_a_second_stand_in_where_flops_were_not_counted_of_all(job):
    both = statistics([("baseline", 10.0, 2.0)]).levels
    samples = statistics([(name, 100.0, 2.0) for name in ("baseline", "bf16")], "samples_per_s", "1/s")
    front = throughput_front(job, "r", samples.model_copy(update={"levels": samples.levels + both}))
    assert front.throughput_metric == "samples_per_s"
    assert front.left_out == ("topk",)


def test_the_published_points_are_the_reports_and_are_not_called_measured():
    """Section 3.2 of the report."""
    points = published_points(PROJECT)
    assert [(p.throughput_tflops, p.accuracy_drop_percent) for p in points] == [(184.7, 0.12), (152.3, 0.38)]
    assert not any(point.measured for point in points)


def test_a_project_without_the_reports_tables_draws_its_own_points_alone(job, tmp_path):
    assert published_points(tmp_path) == ()
    front = throughput_front(job, "r", statistics([("baseline", 1.0, 2.0), ("bf16", 2.0, 2.0)]))
    write_front(front, tmp_path / "front.svg")
    assert "not measured" not in (tmp_path / "front.svg").read_text()


def test_the_figure_says_what_is_dominated_and_what_is_published(job, tmp_path):
    places = [("baseline", 10.0, 2.0), ("bf16", 12.0, 2.1), ("topk", 11.0, 2.2)]
    front = throughput_front(job, "r", statistics(places), published_points(PROJECT))
    write_front(front, tmp_path / "front.svg")
    text = " ".join(ElementTree.parse(tmp_path / "front.svg").getroot().itertext())
    for words in ("topk (dominated)", "Published, not measured", "a100-mi250x", "Measured in this run"):
        assert words in text
    assert "#b3b9c1" in (tmp_path / "front.svg").read_text()
