"""The archive holds the code and nothing that git ignores, the same bytes each time."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from seedance_ops.launchers.code_archive import pack, unpack
from seedance_ops.launchers.errors import CodeArchiveError

FILES = {
    "train.py": "print(1)",
    "lib/model.py": "layers = 2",
    "new.py": "untracked",
    ".env": "HF_TOKEN=swordfish",
    ".env.local": "HF_TOKEN=swordfish",
    "lib/__pycache__/model.cpython-311.pyc": "bytecode",
    ".airflow/object-store/store.json": "secret_key",
    "data.bin": "ignored",
    "secrets/key.pem": "ignored",
    ".gitignore": "data.bin\n/secrets/\n",
    ".github/workflow.yaml": "on: push",
}


def written(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = written(tmp_path / "project")
    run(folder, "init", "--quiet", ".")
    run(folder, "add", "train.py", "lib/model.py", ".gitignore", ".github")
    return folder


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return written(tmp_path / "project")


@pytest.fixture(params=["repository", "plain"])
def folder(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


def run(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def names(folder: Path, root: Path) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(pack(folder, root)[0])) as archive:
        return archive.getnames()


def test_of_a_work_tree_it_holds_what_git_keeps_or_would_keep(repository: Path) -> None:
    assert names(repository, repository) == [
        ".github/workflow.yaml",
        ".gitignore",
        "lib/model.py",
        "new.py",
        "train.py",
    ]


def test_of_a_folder_in_a_work_tree_it_holds_that_folder_alone(repository: Path) -> None:
    assert names(repository / "lib", repository) == ["lib/model.py"]


def test_a_tracked_file_that_was_deleted_is_not_missed(repository: Path) -> None:
    (repository / "train.py").unlink()
    assert "train.py" not in names(repository, repository)


def test_what_git_tracks_counts_whatever_it_is_called(repository: Path) -> None:
    run(repository, "add", "--force", ".env.local")
    assert ".env.local" in names(repository, repository)


def test_outside_of_git_it_holds_no_dotfiles_and_no_caches(plain: Path) -> None:
    assert names(plain, plain) == ["data.bin", "lib/model.py", "new.py", "secrets/key.pem", "train.py"]


def test_a_folder_that_a_surrounding_repository_ignores_as_a_whole_is_no_part_of_it(plain: Path) -> None:
    run(plain.parent, "init", "--quiet", ".")
    (plain.parent / ".gitignore").write_text("*\n")
    assert "train.py" in names(plain, plain)


def test_the_same_files_give_the_same_bytes_whenever_they_were_written(folder: Path, tmp_path: Path) -> None:
    first = pack(folder, folder)
    (folder / "lib/__pycache__/other.pyc").write_text("a cache of another run")
    (folder / "train.py").touch()
    assert pack(folder, folder) == first
    unpack(*first, tmp_path / "unpacked")
    assert (tmp_path / "unpacked/train.py").read_text() == FILES["train.py"]


def test_a_link_out_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.py").touch()
    (folder / "linked.py").symlink_to(tmp_path / "outside.py")
    with pytest.raises(CodeArchiveError, match=r"linked\.py: links out of the workload's folder"):
        pack(folder, folder)


def test_a_link_to_a_file_of_the_folder_is_packed_as_the_file(folder: Path) -> None:
    (folder / "linked.py").symlink_to("train.py")
    with tarfile.open(fileobj=io.BytesIO(pack(folder, folder)[0])) as archive:
        assert archive.getmember("linked.py").isfile()


def test_a_link_to_a_folder_is_refused_and_not_left_out(folder: Path) -> None:
    (folder / "shared").symlink_to("lib")
    with pytest.raises(CodeArchiveError, match="shared: a link to a folder"):
        pack(folder, folder)


def test_a_nested_repository_is_refused_and_not_left_out(repository: Path) -> None:
    (repository / "vendored").mkdir()
    (repository / "vendored/module.py").touch()
    run(repository / "vendored", "init", "--quiet", ".")
    with pytest.raises(CodeArchiveError, match="vendored: a git repository of its own"):
        pack(repository, repository)


def test_a_surrounding_git_process_does_not_mislead(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert "secrets/key.pem" not in names(repository, repository)
