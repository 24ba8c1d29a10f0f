"""The commands answer, quickly, without a traceback and without the heavy libraries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from seedance_ops.cli.app import app

ROOT = Path(__file__).parents[3]
HEAVY = ("airflow", "torch", "pandas", "boto3", "pyarrow", "numpy", "scipy", "great_expectations")


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate", "include/jobs/char_gpt.yaml"],
        ["schema", "TrainingJob"],
        ["list"],
        ["checkpoint", "--help"],
        ["show", "include/jobs/char_gpt.yaml"],
    ],
)
def test_a_command_answers_without_heavy_imports(project, arguments):
    program = (
        f"import sys; sys.argv = ['seedance', *{arguments!r}]\n"
        "from seedance_ops.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n"
        f"    print([name for name in {HEAVY!r} if name in sys.modules], end.code or 0, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=project
    )
    assert done.stderr.splitlines()[-1] == "[] 0", done.stderr


def test_validate_exits_with_0_for_valid_files(project):
    result = invoke("validate", *(project / "include/jobs").glob("*.yaml"))
    assert result.exit_code == 0, result.output
    assert "char_gpt.yaml: valid (3 variants × 5 seeds)" in result.output


def test_validate_exits_with_1_and_shows_every_files_errors(project):
    bad = project / "include/jobs/bad.yaml"
    bad.write_text("kind: TrainingJob\nnonsense: 1\n", encoding="utf-8")
    result = invoke("validate", bad, project / "include/jobs/char_gpt.yaml")
    assert result.exit_code == 1
    assert "bad.yaml:2:1: nonsense: unknown key" in result.output
    assert "char_gpt.yaml: valid" in result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("workload: {a: [}", "not YAML"),
        ("- a", "a mapping"),
        ("a: 1\na: 2", "duplicate key"),
    ],
)
def test_validate_checks_that_a_defaults_file_is_there_and_is_yaml(project, text, message):
    file = project / "include/jobs/defaults.yaml"
    if text is not None:
        file.write_text(text)
    result = invoke("validate", file)
    assert result.exit_code == 1
    assert str(file) in result.output
    assert message in result.output
    assert not json.loads(invoke("validate", file, "--json").output)["valid"]


@pytest.mark.parametrize("text", ["limits: {retries: 1}\n", "# nothing yet\n"])
def test_validate_says_of_a_good_defaults_file_what_it_checked(project, text):
    (project / "include/jobs/defaults.yaml").write_text(text)
    result = invoke("validate", "include/jobs/defaults.yaml")
    assert result.exit_code == 0
    assert result.output == (
        "include/jobs/defaults.yaml: valid YAML; its values are checked with the jobs they apply to\n"
    )


def validate_priced(project, *, prices="", job="", launchers=""):
    """Validate the example job with these words replaced, as ``old=new``."""
    files = {"catalog/prices.yaml": prices, "jobs/char_gpt.yaml": job, "catalog/launchers.yaml": launchers}
    for name, change in files.items():
        file = project / "include" / name
        old, _, new = change.partition("=")
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return invoke("validate", project / "include/jobs/char_gpt.yaml")


def test_validate_says_where_a_launcher_names_a_price_that_no_catalogue_has(project):
    result = validate_priced(project, launchers="price: local-cpu=price: local-cqu")
    assert result.exit_code == 1
    line = next(
        number
        for number, text in enumerate((project / "include/jobs/char_gpt.yaml").read_text().splitlines(), 1)
        if text.startswith("launcher:")
    )
    assert (
        f"char_gpt.yaml:{line}:11: launcher: launcher profile local is priced by local-cqu" in result.output
    )
    assert "try: local-cpu" in result.output
    assert ": valid" not in result.output
    assert result.output.count("local-cqu, which is not in") == 1, "three variants share the launcher"


def test_validate_points_at_the_variant_that_chooses_the_launcher(project):
    inline = "{kind: local, price: nothing}"
    result = validate_priced(project, job=f"  baseline: {{}}=  baseline: {{set: {{launcher: {inline}}}}}")
    assert result.exit_code == 1, result.output
    assert "variants.baseline.set.launcher.price: the launcher is priced by nothing" in result.output


def test_validate_finds_a_price_in_the_overlay(project, monkeypatch, tmp_path):
    overlay = tmp_path / "contract.yaml"
    overlay.write_text(
        "prices: {ours: {usd_per_accelerator_hour: 1.0, source: a contract, date: 2026-01-02}}", "utf-8"
    )
    monkeypatch.setenv("SEEDANCE_PRICES_OVERLAY", str(overlay))
    assert validate_priced(project, launchers="price: local-cpu=price: ours").exit_code == 0


def test_validate_warns_where_there_is_no_price_catalogue(project):
    (project / "include/catalog/prices.yaml").unlink()
    result = invoke("validate", project / "include/jobs/char_gpt.yaml")
    assert result.exit_code == 0, result.output
    assert "warning" in result.stderr
    assert "no price catalogue" in result.stderr


def test_validate_as_json(project):
    (project / "bad.yaml").write_text("kind: [\n", encoding="utf-8")
    result = invoke("validate", "bad.yaml", "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 1
    assert not told["valid"]
    assert (told["errors"][0]["file"], told["errors"][0]["line"]) == ("bad.yaml", 2)


def test_list_shows_the_projects_jobs(project):
    result = invoke("list", "--json")
    assert result.exit_code == 0
    jobs = {job["name"]: job for job in json.loads(result.stdout)["jobs"]}
    assert jobs["char-gpt"]["schedule"] == "0 3 * * 1 Asia/Shanghai"
    assert (jobs["char-gpt"]["variants"], jobs["char-gpt"]["seeds"]) == (3, 5)
    assert jobs["char-gpt"]["file"] == "include/jobs/char_gpt.yaml"


def test_list_reports_two_jobs_of_one_name(project):
    shutil.copy("include/jobs/char_gpt.yaml", "include/jobs/copy.yaml")
    result = invoke("list")
    assert result.exit_code == 1
    assert result.output.count("two jobs of one name") == 2


def test_validate_finds_a_job_of_the_same_name_that_it_was_not_given(project):
    shutil.copy("include/jobs/char_gpt.yaml", "include/jobs/copy.yaml")
    result = invoke("validate", "include/jobs/copy.yaml")
    assert result.exit_code == 1
    assert "copy.yaml:5:9: metadata.name: two jobs of one name" in result.output
    assert "the name stands also in" in result.output
    assert "char_gpt.yaml" in result.output


def test_neither_a_copy_elsewhere_nor_a_name_in_other_words_is_the_same_name(project):
    shutil.copy("include/jobs/char_gpt.yaml", "copy.yaml")
    text = Path("include/jobs/plain_command.yaml").read_text(encoding="utf-8")
    Path("include/jobs/plain_command.yaml").write_text(
        text.replace("owner: ml-platform", "owner: char-gpt").replace("plain-command", "char-gpt-2"),
        encoding="utf-8",
    )
    copy = invoke("validate", "copy.yaml")
    assert copy.exit_code == 0
    assert "warning: copy.yaml:5:9: metadata.name: seedance run will refuse this file" in copy.output
    assert "include/jobs/char_gpt.yaml has a job of the same name" in copy.output
    Path("copy.yaml").write_text(Path("copy.yaml").read_text().replace("name: char-gpt", "name: char-gpt-3"))
    assert "refuse" not in invoke("validate", "copy.yaml").output
    assert invoke("validate", "include/jobs/char_gpt.yaml").exit_code == 0


def test_list_outside_a_project_says_how_to_name_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEEDANCE_PROJECT", raising=False)
    result = invoke("list")
    assert result.exit_code == 1
    assert "SEEDANCE_PROJECT" in result.output


def test_a_file_outside_is_checked_against_the_project_of_the_working_directory(project, tmp_path_factory):
    """As `seedance run` would take it: its program and its launcher are the project's."""
    outside = tmp_path_factory.mktemp("outside") / "job.yaml"
    text = (
        (project / "include/jobs/char_gpt.yaml")
        .read_text()
        .replace("examples/char_gpt.py", "examples/none.py")
    )
    outside.write_text(text.replace("name: char-gpt\n", "name: outside\n"))
    result = invoke("validate", outside)
    assert result.exit_code == 1
    assert "examples/none.py" in result.stderr


def test_the_project_can_be_named_from_elsewhere(project, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    monkeypatch.setenv("SEEDANCE_PROJECT", str(project))
    assert "char-gpt" in invoke("list").output


def test_show_prints_yaml_with_the_origin_of_every_value(project):
    result = invoke("show", "include/jobs/char_gpt.yaml")
    assert result.exit_code == 0
    assert yaml.safe_load(result.stdout)["metadata"]["name"] == "char-gpt"
    line = next(line for line in result.stdout.splitlines() if "samples: 960" in line)
    assert line.endswith("# include/jobs/char_gpt.yaml:16")


def test_show_of_a_broken_file_is_an_error_without_traceback(project):
    result = invoke("show", "nothing.yaml")
    assert result.exit_code == 1
    assert result.output.startswith("error: nothing.yaml:1:1: cannot be read")
    assert isinstance(result.exception, SystemExit)


def test_the_version_is_the_packages():
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.output == f"seedance {version('seedance-ops')}\n"


def test_schema_of_an_unknown_kind_names_the_known_ones():
    result = invoke("schema", "TrainingJb")
    assert result.exit_code == 1
    assert "did you mean TrainingJob" in result.output


@pytest.mark.parametrize("command", ["validate", "schema", "list", "show", "run", "up", "storage"])
def test_a_command_offers_no_option_that_is_not_its_own(command):
    result = invoke(command, "--help")
    assert result.exit_code == 0
    assert "completion" not in result.output


def test_an_unknown_command_is_refused():
    assert invoke("nonsense").exit_code == 2


def test_validate_finds_a_misspelt_expectation_at_its_place(project):
    suite = project / "include/expectations/mine.yaml"
    suite.parent.mkdir(exist_ok=True)
    suite.write_text("expectations:\n  - {type: expect_run_to_be_complete}\n", encoding="utf-8")
    result = invoke("validate", suite)
    assert result.exit_code == 1
    assert "mine.yaml:2:12" in result.output
    assert "try: expect_runs_to_be_complete" in result.output
    suite.write_text("expectations:\n  - {type: expect_runs_to_be_complete}\n", encoding="utf-8")
    assert "valid (data expectations)" in invoke("validate", suite).output


def test_an_estimate_needs_no_store_where_nothing_has_run(project, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("AWS_", "SEEDANCE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AIRFLOW_HOME", str(project / "fresh"))
    result = invoke("estimate", "include/jobs/char_gpt.yaml")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert not (project / "fresh").exists(), "no store is started to find nothing"
