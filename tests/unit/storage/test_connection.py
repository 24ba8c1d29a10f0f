"""Clients share what botocore reads from its files, and nothing else."""

from __future__ import annotations

import pytest
from botocore.loaders import JSONFileLoader

from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.connection import connect

LOCATION = StorageLocation(uri="s3://bucket", region="us-east-1")


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "first-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def test_a_second_client_parses_no_file_again(monkeypatch: pytest.MonkeyPatch) -> None:
    connect(LOCATION)
    parsed: list[str] = []
    monkeypatch.setattr(JSONFileLoader, "load_file", lambda _, path: parsed.append(path))
    connect(LOCATION)
    assert parsed == []


def test_a_second_client_has_the_credentials_of_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def signed() -> str:
        parameters = {"Bucket": "bucket", "Key": "key"}
        return connect(LOCATION).generate_presigned_url("get_object", Params=parameters)

    assert "first-key" in signed()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "second-key")
    assert "second-key" in signed()
