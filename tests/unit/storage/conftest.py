"""A simulated object store: unit tests touch no network."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    with mock_aws():
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
        yield ObjectStore(StorageLocation(uri="s3://bucket/run", region="us-east-1"))
