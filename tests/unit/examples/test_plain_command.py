"""The example for ``runtime: none`` fits its job: options, seed, the metric it reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from seedance_ops.jobs.loader import load_job_file

PROJECT = Path(__file__).resolve().parents[3]
JOB = load_job_file(PROJECT / "include/jobs/plain_command.yaml").job


def reported(file: Path, seed: int, *options: str) -> list[dict[str, Any]]:
    """What the program writes when it is started as the launcher starts it."""
    workload = JOB.resolve("baseline").workload
    assert workload.command is not None
    subprocess.run(
        [sys.executable, *workload.command[1:], *options],
        cwd=PROJECT / (workload.workdir or "."),
        env={"SEEDANCE_METRICS_FILE": str(file), "SEEDANCE_SEED": str(seed)},
        check=True,
        timeout=30,
    )
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_it_reports_the_jobs_quality_metric(tmp_path: Path) -> None:
    lines = reported(tmp_path / "metrics", 0, "--iterations", "1000")
    assert JOB.workload.quality is not None
    assert {line["metric"] for line in lines} == {JOB.workload.quality.metric}
    assert [line["step"] for line in lines] == [250, 500, 750, 1000]


def test_the_error_depends_on_the_seed_and_on_nothing_else(tmp_path: Path) -> None:
    first, again, other = (
        reported(tmp_path / name, seed, "--iterations", "4000")
        for name, seed in (("first", 3), ("again", 3), ("other", 4))
    )
    assert first == again
    assert [line["value"] for line in first] != [line["value"] for line in other]


def test_it_takes_the_options_of_every_variant(tmp_path: Path) -> None:
    counts = {}
    for name in JOB.variants:
        workload = JOB.resolve(name).workload
        assert workload.command is not None
        options = workload.argv()[len(workload.command) :]
        counts[name] = reported(tmp_path / name, 0, *options)[-1]["step"]
    assert counts["half"] * 2 == counts["baseline"]
