"""``seedance prices`` prints what is usable, says what is not, and answers with its exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from seedance_ops.cli.app import app

ROOT = Path(__file__).parents[3]
HEADER = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region\n"
GOOD = "p4d.24xlarge,A100,8,96,1152,A100,21.957642,,us-east-1\n"
BAD = "Standard_ND96isr_H100_v5,H100,12,96,1900,H100,98.32,98.32,eastus\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "include" / "catalog", tmp_path / "include" / "catalog")
    (tmp_path / "include" / "jobs").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEEDANCE_PROJECT", raising=False)
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(app, ["prices", *map(str, arguments)])


def test_a_list_becomes_yaml_for_the_catalogue(project):
    (project / "vms.csv").write_text(HEADER + GOOD + BAD, encoding="utf-8")
    result = invoke("import", "vms.csv", "--provider", "aws")
    assert result.exit_code == 0, result.output
    assert list(yaml.safe_load(result.stdout)["prices"]) == ["aws-p4d.24xlarge-us-east-1"]
    assert "refused: row 3: Standard_ND96isr_H100_v5: listed with 12 accelerators, has 8" in result.stderr


def test_a_refused_row_is_a_failure_where_strictness_was_asked_for(project):
    (project / "vms.csv").write_text(HEADER + GOOD + BAD, encoding="utf-8")
    assert invoke("import", "vms.csv", "--provider", "aws", "--strict").exit_code == 1
    (project / "vms.csv").write_text(HEADER + GOOD, encoding="utf-8")
    assert invoke("import", "vms.csv", "--provider", "aws", "--strict").exit_code == 0


def test_a_list_that_gives_nothing_is_a_failure(project):
    (project / "vms.csv").write_text(HEADER + BAD, encoding="utf-8")
    result = invoke("import", "vms.csv", "--provider", "azure")
    assert result.exit_code == 1
    assert "gave no entry" in result.stderr


def test_json_has_prices_and_findings(project):
    (project / "vms.csv").write_text(HEADER + GOOD + BAD, encoding="utf-8")
    told = json.loads(invoke("import", "vms.csv", "--provider", "aws", "--json").stdout)
    assert told["prices"]["aws-p4d.24xlarge-us-east-1"]["usd_per_node_hour"] == 21.957642
    assert [finding["kind"] for finding in told["findings"]] == ["wrong_count"]


def test_an_opencost_export_is_known_by_its_suffix(project):
    answer = {"data": [{"a": {"gpuHours": 4.0, "gpuCost": 8.0}}]}
    (project / "allocation.json").write_text(json.dumps(answer), encoding="utf-8")
    result = invoke("import", "allocation.json", "--provider", "lab", "--accelerator", "a100-80gb")
    assert result.exit_code == 0, result.output
    assert yaml.safe_load(result.stdout)["prices"]["lab-gpu"]["usd_per_accelerator_hour"] == 2.0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["import", "none.csv"], 1, "No such file"),
        (["import", "none.csv", "--format", "excel"], 2, "must be skypilot or opencost"),
        (["import"], 2, "Missing argument"),
    ],
)
def test_wrong_use_and_missing_files_say_so_without_a_traceback(arguments, code, message, project):
    result = invoke(*arguments)
    assert result.exit_code == code
    assert message in result.output
    assert isinstance(result.exception, SystemExit)


def test_the_shipped_catalogue_passes_its_check(project):
    result = invoke("check", "--max-age-days", "36500")
    assert result.exit_code == 0, result.output
    assert "0 findings" in result.output


def test_an_old_price_is_a_warning_and_an_implausible_one_a_failure(project):
    entry = {"source": "a list", "date": "2020-01-01", "basis": "list", "accelerator": "h100"}
    good, bad = entry | {"usd_per_accelerator_hour": 5.0}, entry | {"usd_per_accelerator_hour": 0.001}
    Path("mine.yaml").write_text(yaml.safe_dump({"prices": {"good": good}}), encoding="utf-8")
    result = invoke("check", "mine.yaml")
    assert (result.exit_code, result.output.count("warning:")) == (0, 1)
    Path("mine.yaml").write_text(yaml.safe_dump({"prices": {"bad": bad}}), encoding="utf-8")
    told = invoke("check", "mine.yaml", "--json")
    assert told.exit_code == 1
    assert {finding["kind"] for finding in json.loads(told.stdout)["findings"]} == {"out_of_bounds", "old"}


def test_a_check_of_nothing_says_how_to_name_something(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEEDANCE_PROJECT", raising=False)
    result = invoke("check")
    assert result.exit_code == 1
    assert "SEEDANCE_PROJECT" in result.output


def test_it_loads_none_of_the_heavy_libraries(project):
    program = (
        "import sys; sys.argv = ['seedance', 'prices', 'check', '--max-age-days', '36500']\n"
        "from seedance_ops.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n"
        "    print([n for n in ('pandas', 'numpy', 'scipy', 'torch', 'airflow') if n in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
