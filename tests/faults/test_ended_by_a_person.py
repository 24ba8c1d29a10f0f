"""A person changes their mind: Ctrl-C in the terminal, or the form on the page."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from seedance_ops.launchers.factory import launches_folder
from seedance_ops.launchers.running import running_launches
from tests.airflow_under_test import CHECKOUT, AirflowUnderTest, until
from tests.faults.test_killed_in_the_middle import JOB

pytestmark = pytest.mark.xdist_group("airflow")


def test_a_value_from_the_form_changes_the_run_and_the_report_needs_a_sign_in(
    airflow: AirflowUnderTest,
) -> None:
    airflow.add_job("from-form", JOB.format(name="from-form", steps=5))
    key = "variants.topk.gradient_compression.k_ratio"
    with pytest.raises(Exception, match="k_ratio"):
        airflow.client.trigger("from-form", {key: 1.5})
    run_id = airflow.client.trigger("from-form", {key: 0.5})

    assert airflow.wait("from-form", run_id) == "success"

    manifest = airflow.run_store("from-form", run_id).manifest()
    assert manifest.overrides == {key: 0.5}
    page = f"{airflow.running.url}/seedance/report/from-form/{run_id}"
    assert httpx.get(page).status_code == 401
    shown = httpx.get(page, headers=airflow.client.authorization)
    assert shown.status_code == 200
    assert "from-form" in shown.text
    assert "0.5" in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]


def processes_of_home(home: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("AIRFLOW_HOME") == str(home) or str(home) in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_ctrl_c_cancels_the_launched_job_and_leaves_no_process(tmp_path: Path) -> None:
    home = tmp_path / "home"
    file = CHECKOUT / "include/jobs/char_gpt.yaml"
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SEEDANCE_"))
    }
    process = subprocess.Popen(
        [sys.executable, "-c", "from seedance_ops.cli import main; main()", "run", str(file)],
        env=environ | {"AIRFLOW_HOME": str(home)},
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    launches = launches_folder({"AIRFLOW_HOME": str(home)})

    def training() -> bool:
        assert process.poll() is None, process.stdout.read() if process.stdout else ""
        return any(folder for folder in launches.glob("*/progress.json"))

    until(training, 180)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)

    assert process.returncode == 130, output
    assert "no job of this run is left" in output
    assert running_launches(launches, "char-gpt", "") == []
    assert processes_of_home(home) == []
