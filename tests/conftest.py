"""Real servers, started once per test session."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock
from uuid import uuid4

import hypothesis
import pytest

from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.server import EmbeddedStore, StoreRecord

PROJECT = Path(__file__).resolve().parent.parent

hypothesis.settings.register_profile(
    "untimed", deadline=None
)  # the machine may be busy: timings gate nothing
hypothesis.settings.load_profile("untimed")

# The suite starts hundreds of processes, each of which would compile the package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

LONGEST = [
    "faults/test_killed_in_the_middle.py",
    "dags/test_every_job.py",
    "dags/test_phases_and_blocks.py",
    "faults/test_ended_by_a_person.py",
    "integration/test_training_resume.py",
    "integration/test_training_session.py",
]
"""Files of minutes, in the order in which workers should begin them; the many short ones even out the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {PROJECT / "tests" / name: n for n, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


@pytest.fixture(autouse=True, scope="module")
def imports_are_no_garbage() -> None:
    """Let no collection look through what was imported: statsmodels asks for one at each correction."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """No test sees a developer's keys or endpoint, nor what an earlier test has left in the environment."""
    with mock.patch.dict(os.environ):
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        yield


@pytest.fixture(scope="session")
def store_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreRecord]:
    """A SeaweedFS of this test session's own, with authentication on."""
    server = EmbeddedStore(tmp_path_factory.mktemp("store"))
    yield server.up()
    server.down()


@pytest.fixture
def store_environment(store_server: StoreRecord, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The AWS variables of the session's store, set for this test and for what it launches."""
    variables = store_server.environment()
    for name in [name for name in os.environ if name.startswith(("AWS_", "SEEDANCE_"))]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


@pytest.fixture
def location(store_server: StoreRecord, store_environment: dict[str, str]) -> StorageLocation:
    """An empty prefix in a bucket that exists."""
    import boto3
    from botocore.exceptions import ClientError

    client = boto3.client("s3", endpoint_url=store_server.endpoint_url)
    try:
        client.create_bucket(Bucket="tests")
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
            raise
    return StorageLocation(
        uri=f"s3://tests/{uuid4().hex}", endpoint_url=store_server.endpoint_url, region="us-east-1"
    )
