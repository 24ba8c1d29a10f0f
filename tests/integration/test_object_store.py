"""The client against a real S3-compatible server with authentication."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.errors import AccessDenied, ObjectExists, StoreUnreachable


def test_a_race_of_conditional_puts_has_one_winner(location: StorageLocation) -> None:
    store = ObjectStore(location)

    def attempt(writer: int) -> bool:
        try:
            store.put("manifest", str(writer).encode(), if_absent=True)
        except ObjectExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1


def test_the_server_honours_conditional_writes(location: StorageLocation) -> None:
    assert ObjectStore(location).probe_conditional_writes()
    assert ObjectStore(location).list() == []


def test_a_bucket_is_created_once(location: StorageLocation) -> None:
    store = ObjectStore(location.model_copy(update={"uri": "s3://made-by-test/x"}))
    store.ensure_bucket()
    store.ensure_bucket()
    store.put("a", b"1")
    assert store.list() == ["a"]


def test_wrong_credentials_are_named_without_the_secret(
    location: StorageLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-and-secret")
    with pytest.raises(AccessDenied, match="check the credentials") as caught:
        ObjectStore(location).get("a")
    assert "wrong-and-secret" not in str(caught.value)


def test_no_server_is_told_apart_from_no_object(location: StorageLocation) -> None:
    nowhere = location.model_copy(update={"endpoint_url": "http://127.0.0.1:9"})
    with pytest.raises(StoreUnreachable, match="is the server up"):
        ObjectStore(nowhere).get("a")
