"""The bundle's versions: an edit makes a new one, and what a run was promised never changes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("airflow")

from seedance_ops.orchestration.bundle import JobBundle


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_STORAGE_PATH", str(tmp_path / "bundles"))
    jobs = tmp_path / "project/include/jobs"
    jobs.mkdir(parents=True)
    (jobs / "a.yaml").write_text("metadata: {name: a}\n", encoding="utf-8")
    return tmp_path / "project"


def bundle(project: Path, version: str | None = None) -> JobBundle:
    made = JobBundle(name="jobs", project=str(project), refresh_interval=5, version=version)
    made.initialize()
    return made


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}


def test_an_edit_makes_a_new_version_and_leaves_the_old_one_as_it_was(project: Path) -> None:
    processor = bundle(project)
    before = processor.get_current_version().version
    promised = contents(bundle(project, before).path)

    (project / "include/jobs/a.yaml").write_text("metadata: {name: a}\nnum_nodes: 2\n", encoding="utf-8")
    (project / "include/jobs/b.yaml").write_text("metadata: {name: b}\n", encoding="utf-8")
    processor.refresh()

    assert processor.get_current_version().version != before
    assert contents(bundle(project, before).path) == promised
    assert len(contents(processor.path)) == 2


def test_undoing_an_edit_is_the_old_version_again(project: Path) -> None:
    processor = bundle(project)
    before = processor.get_current_version().version
    extra = project / "include/jobs/b.yaml"
    extra.write_text("metadata: {name: b}\n", encoding="utf-8")
    processor.refresh()
    extra.unlink()
    processor.refresh()
    assert processor.get_current_version().version == before


def test_a_version_that_is_not_on_this_machine_says_what_to_share(project: Path) -> None:
    with pytest.raises(FileNotFoundError, match="dag_bundle_storage_path"):
        bundle(project, "0" * 40)


def test_the_path_is_known_before_anything_is_initialised(project: Path) -> None:
    assert JobBundle(name="jobs", project=str(project), refresh_interval=5).path.name == "current"
