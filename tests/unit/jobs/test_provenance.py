"""A run's stamp tells two runs' circumstances apart, and carries the job's labels."""

from __future__ import annotations

from pathlib import Path

from seedance_ops.jobs.loader import LoadedJob
from seedance_ops.jobs.manifest import RunManifest, plan_runs
from seedance_ops.jobs.provenance import stamp_of


def test_every_label_of_the_job_is_stamped(load, spoil, tmp_path: Path) -> None:
    labels = "labels: {team: ml-platform, example.com/cost-center: demo, empty: ''}"
    loaded: LoadedJob = load(spoil(("owner: ml-platform", f"owner: ml-platform\n  {labels}")))
    manifest = RunManifest(
        job=loaded.job,
        job_hash="0" * 64,
        source="include/jobs/job.yaml",
        run_id="manual__1",
        runs=plan_runs(loaded.job, "manual__1"),
        profiles={},
        planned_at_s=0.0,
    )
    stamp = stamp_of(manifest, tmp_path)
    assert {key: value for key, value in stamp.items() if key.startswith("label_")} == {
        "label_team": "ml-platform",
        "label_example.com/cost-center": "demo",
        "label_empty": "",
    }
    assert stamp["job"] == "char-gpt"
    assert stamp["git_commit"] == "unversioned"
