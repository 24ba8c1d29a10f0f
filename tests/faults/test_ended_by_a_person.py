"""A person changes their mind: Ctrl-C in the terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from seedance_ops.launchers.factory import launches_folder
from seedance_ops.launchers.processes import processes_of
from tests.airflow_under_test import CHECKOUT, until


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

    until(training, 400)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=300)

    assert process.returncode == 130, output
    assert "no job of this run is left" in output
    names = [folder.name for folder in launches.glob("*-*")]
    assert names
    assert [process for name in names for process in processes_of(name)] == []
    until(lambda: not processes_of_home(home), 60)
