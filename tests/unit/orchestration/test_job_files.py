"""Stubs hold the YAML as it was written, survive any text, and one file never hides another."""

from __future__ import annotations

import ast
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from seedance_ops.jobs.project import ProjectContext
from seedance_ops.orchestration.job_files import JobFiles
from seedance_ops.orchestration.stub import stub_of


def project_with(folder: Path, **files: str) -> ProjectContext:
    (folder / "include/jobs").mkdir(parents=True)
    for name, text in files.items():
        (folder / "include/jobs" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return ProjectContext(folder)


def job_text(stub: str) -> str:
    tree = ast.parse(stub)
    assignment = next(node for node in tree.body if isinstance(node, ast.Assign))
    assert isinstance(assignment.value, ast.Constant)
    return str(assignment.value.value)


ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"))


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_comes_back_from_its_stub_whatever_the_file_is_called(text: str, source: str) -> None:
    stub = stub_of(text, source=source, project="/p", defaults={source: text})
    assert job_text(stub) == text
    # Nothing of the text or the name is code: the stub has the same statements for every job.
    assert [type(node).__name__ for node in ast.parse(stub).body] == [
        *("Expr", "ImportFrom", "Assign", "Assign", "Assign"),
    ]


def test_a_file_that_cannot_be_read_is_its_own_import_error(tmp_path: Path) -> None:
    project = project_with(tmp_path, a="metadata: {name: a}\n")
    elsewhere = tmp_path / "gone.yaml"
    elsewhere.mkdir()
    files = JobFiles(project, tmp_path / "bundle")
    files.watch(elsewhere)
    stubs = files.stubs().values()
    assert sum("cannot be read" in stub for stub in stubs) == 1
    assert sum("metadata: {name: a}" in stub for stub in stubs) == 1


def test_a_person_who_opens_the_code_tab_reads_the_yaml() -> None:
    text = 'metadata:\n  name: a\n  description: "quoted"\n'
    assert text in stub_of(text, source="a.yaml", project="/p", defaults={})


def test_airflows_discovery_finds_the_words_it_looks_for() -> None:
    stub = stub_of("", source="a.yaml", project="/p", defaults={}).lower()
    assert "airflow" in stub
    assert "dag" in stub


def test_two_jobs_of_one_name_leave_the_first_and_refuse_the_second(tmp_path: Path) -> None:
    project = project_with(tmp_path, a="metadata: {name: same}\n", b="metadata:\n  name: same\n")
    stubs = JobFiles(project, tmp_path / "bundle").stubs()
    refused = [stub for stub in stubs.values() if "two jobs of one name" in stub]
    assert len(stubs) == 2
    assert len(refused) == 1
    assert "a.yaml" in refused[0]
    assert "b.yaml" in refused[0]


def test_a_copy_elsewhere_of_a_jobs_name_is_found_before_it_is_run(tmp_path: Path) -> None:
    project = project_with(tmp_path / "project", a="metadata: {name: same}\n")
    copied, other = tmp_path / "copied.yaml", tmp_path / "other.yaml"
    copied.write_text("metadata: {name: same}\n", encoding="utf-8")
    other.write_text("metadata: {name: other}\n", encoding="utf-8")
    files = JobFiles(project, tmp_path / "bundle")
    assert files.namesake(copied) == project.jobs_folder / "a.yaml"
    assert files.namesake(project.jobs_folder / "a.yaml") is None
    assert files.namesake(other) is None


def test_a_nested_name_is_not_taken_for_the_jobs(tmp_path: Path) -> None:
    project = project_with(
        tmp_path, a="metadata: {name: a}\nvariants:\n  x:\n    name: b\n", b="metadata: {name: b}\n"
    )
    assert not any("two jobs" in stub for stub in JobFiles(project, tmp_path / "bundle").stubs().values())


def test_a_file_elsewhere_is_watched_until_it_is_deleted(tmp_path: Path) -> None:
    files = JobFiles(project_with(tmp_path / "project"), tmp_path / "bundle")
    elsewhere = tmp_path / "mine.yaml"
    elsewhere.write_text("metadata: {name: mine}\n", encoding="utf-8")
    files.watch(elsewhere)
    files.watch(elsewhere)
    assert len(files.stubs()) == 1
    elsewhere.unlink()
    assert files.stubs() == {}


def test_defaults_are_part_of_the_stub(tmp_path: Path) -> None:
    project = project_with(tmp_path, a="metadata: {name: a}\n", defaults="num_nodes: 2\n")
    files = JobFiles(project, tmp_path / "bundle")
    before = files.stubs()
    (tmp_path / "include/jobs/defaults.yaml").write_text("num_nodes: 3\n", encoding="utf-8")
    assert "num_nodes: 2" in next(iter(before.values()))
    assert files.stubs() != before


def test_bytes_that_are_no_text_and_huge_files_still_give_a_stub_that_parses(tmp_path: Path) -> None:
    project = project_with(tmp_path, huge="#" * 10_000_000)
    (tmp_path / "include/jobs/binary.yaml").write_bytes(b"\xff\xfe\x00name")
    for stub in JobFiles(project, tmp_path / "bundle").stubs().values():
        ast.parse(stub)
        stub.encode("utf-8")
