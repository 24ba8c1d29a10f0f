"""A small project on disk, and a valid job to spoil."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seedance_ops.jobs.errors import JobError, JobErrors
from seedance_ops.jobs.loader import LoadedJob, load_job_text
from seedance_ops.jobs.project import ProjectContext

VALID = """\
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata:
  name: char-gpt
  owner: ml-platform
schedule: {cron: "0 3 * * 1", timezone: Asia/Shanghai}
workload:
  entrypoint: examples/char_gpt.py
  args: {layers: 2}
  batch: {per_rank: 8}
  stop: {samples: 960}
  quality: {metric: val_loss, better: lower}
launcher: local
resources: {accelerators: "cpu:2"}
variants:
  baseline: {}
  topk:
    gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}
repeats: {seeds: 5}
gates:
  - {metric: val_loss, compared_to: baseline, equivalent_within: {absolute: 0.05}}
params: [workload.stop.samples, variants.topk.gradient_compression.k_ratio]
"""


@pytest.fixture
def project(tmp_path: Path) -> ProjectContext:
    (tmp_path / "include/jobs").mkdir(parents=True)
    (tmp_path / "include/catalog").mkdir()
    (tmp_path / "include/catalog/launchers.yaml").write_text(
        "launchers:\n  local: {kind: local, price: local-cpu}\n", encoding="utf-8"
    )
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/char_gpt.py").touch()
    return ProjectContext(tmp_path)


@pytest.fixture
def valid() -> str:
    return VALID


@pytest.fixture
def load(project: ProjectContext) -> Callable[[str], LoadedJob]:
    return lambda text: load_job_text(text, project.jobs_folder / "job.yaml", project=project)


@pytest.fixture
def errors_of(load: Callable[[str], LoadedJob]) -> Callable[[str], tuple[JobError, ...]]:
    def errors(text: str) -> tuple[JobError, ...]:
        with pytest.raises(JobErrors) as caught:
            load(text)
        return caught.value.errors

    return errors


@pytest.fixture
def spoil(valid: str) -> Callable[..., str]:
    """The valid job with pieces of its text replaced, each of which must be there once."""

    def spoilt(*changes: tuple[str, str]) -> str:
        text = valid
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        return text

    return spoilt
