"""What the command refuses before it touches the network."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from seedance_ops.cli.app import app
from seedance_ops.netlab import lab
from seedance_ops.netlab.errors import LabNotPossible


def invoke(*arguments):
    return CliRunner().invoke(app, ["netlab", *arguments])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--mbit", "0", "--", "true"], "--mbit 0"),
        (["--mbit", "-5", "--", "true"], "--mbit -5"),
        (["--mbit", "nan", "--", "true"], "--mbit nan"),
        (["--mbit", "200", "--ranks", "1025", "--", "true"], "--ranks 1025"),
        (["--ranks", "0", "--", "true"], "--ranks 0"),
        (["--mbit", "200", "--burst-kb", "1", "--", "true"], "--burst-kb 1"),
        (["--mbit", "200"], "Missing argument"),
    ],
)
def test_a_wrong_option_is_refused_by_name(arguments, said):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert said in result.output


def test_a_user_without_the_rights_is_told_what_to_do(monkeypatch):
    def refuse():
        raise LabNotPossible("no network laboratory here: it needs root")

    monkeypatch.setattr(lab, "require_lab", refuse)
    result = invoke("--mbit", "200", "--", "true")
    assert result.exit_code == 2
    assert "it needs root" in result.output
