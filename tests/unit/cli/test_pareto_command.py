"""``seedance pareto``: of a finished run, and what it refuses of a sweep."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.unit.cli.test_report_commands import bucket, invoke, stored

__all__ = ["bucket", "stored"]


def test_a_finished_runs_points_have_intervals_and_are_drawn(stored, tmp_path):
    drawn = tmp_path / "front.png"
    result = invoke("pareto", "tiny/run-1", "--json", "--output", drawn)
    assert result.exit_code == 0, result.output
    front = json.loads(result.stdout)
    points = {point["variant"]: point for point in front["points"]}
    assert set(points) == {"baseline", "bf16", "topk"}
    for point in points.values():
        assert point["quality"]["low"] < point["quality"]["mean"] < point["quality"]["high"]
        assert point["dominated"] == bool(point["dominated_by"])
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_a_sweep_is_shown_without_running_it(project):
    result = invoke(
        *("pareto", "include/jobs/char_gpt.yaml", "--print-job"),
        *("--k", "0.001,0.01", "--levels", "15", "--device", "a100+mi250x"),
    )
    assert result.exit_code == 0, result.output
    assert list(yaml.safe_load(result.stdout)["variants"]) == [
        *("baseline", "mixed-0-001-a100-mi250x", "mixed-0-01-a100-mi250x", "levels-15"),
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--k", "0.5"], "k_ratio"),
        (["--k", "one"], "numbers with commas"),
        (["--levels", "4"], "levels"),
        (["--bits", "1.5"], "bits_per_element"),
        (["--bits", ""], "numbers with commas"),
        (["--bits", "2", "--device", "a100"], "give --k as well"),
        (["--device", "mi999"], "mi999"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_anything_runs(project, options, says):
    result = invoke("pareto", "include/jobs/char_gpt.yaml", "--print-job", *options)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "char-gpt-pareto.yaml" not in result.stderr  # a file that nobody has seen


def test_a_run_cannot_be_swept():
    result = invoke("pareto", "tiny/run-1", "--k", "0.01")
    assert result.exit_code == 2
    assert "for a job file" in result.stderr
