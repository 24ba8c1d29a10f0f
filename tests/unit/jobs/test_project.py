"""Which files of a project are jobs."""

from __future__ import annotations

import os


def test_only_files_that_a_person_meant_as_jobs_are_jobs(project, tmp_path):
    folder = project.jobs_folder
    (tmp_path / "elsewhere.yaml").touch()
    for name in ("a.yaml", "team/b.yml", "defaults.yaml", "notes.txt", ".hidden.yaml", ".trash/c.yaml"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    (folder / "linked.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    (folder / ".#a.yaml").symlink_to("somebody@host.4711:1700000000")  # Emacs' lock: leads nowhere
    (folder / "gone.yaml").symlink_to("nowhere.yaml")
    (folder / "folder.yaml").mkdir()
    os.mkfifo(folder / "pipe.yaml")
    assert [path.relative_to(folder).as_posix() for path in project.job_files()] == [
        "a.yaml",
        "linked.yaml",
        "team/b.yml",
    ]
