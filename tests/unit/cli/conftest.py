"""A project like this one, to run commands in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "include", tmp_path / "include")
    (tmp_path / "examples").mkdir()
    for name in ("char_gpt.py", "plain_command.py"):
        (tmp_path / "examples" / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEEDANCE_PROJECT", raising=False)
    return tmp_path
