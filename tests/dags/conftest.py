"""An Airflow home in which jobs run, one for each module, so that the modules run side by side."""

from __future__ import annotations

import subprocess
import sys

import pytest

from seedance_ops.orchestration.embedded.settings import bundle_folder, environment
from seedance_ops.orchestration.job_files import JobFiles
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.server import StoreRecord
from tests.dags.runs import CHECKOUT, PROJECT


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, store_server: StoreRecord) -> dict[str, str]:
    """The environment of a prepared Airflow home."""
    folder = tmp_path_factory.mktemp("airflow-home")
    variables = environment(folder, CHECKOUT, ("127.0.0.1", 1), store_server.environment())
    for file in sorted((CHECKOUT / "tests/dags/jobs").glob("*.yaml")):
        JobFiles(PROJECT, bundle_folder(folder)).watch(file)
    subprocess.run(
        [sys.executable, "-m", "seedance_ops.orchestration.embedded.prepare", str(CHECKOUT)],
        env=variables,
        check=True,
        capture_output=True,
    )
    return variables


@pytest.fixture
def base(store_server: StoreRecord, store_environment: dict[str, str]) -> StorageLocation:
    """Where the runs of ``runs`` are kept."""
    return StorageLocation(
        uri="s3://seedance/runs", endpoint_url=store_server.endpoint_url, region="us-east-1"
    )
