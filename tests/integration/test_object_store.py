"""The client against a real S3-compatible server with authentication."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from seedance_ops.storage import bulk
from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.connection import connect
from seedance_ops.storage.errors import (
    AccessDenied,
    ObjectExists,
    ObjectMissing,
    StorageError,
    StoreUnreachable,
)


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


@pytest.mark.parametrize("size", [0, 1, 5 << 20, (5 << 20) + 1, 12_345_678])
def test_a_buffer_comes_back_whatever_its_number_of_parts(
    location: StorageLocation, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(bulk, "PART_BYTES", 5 << 20)
    store = ObjectStore(location)
    written = memoryview(random.Random(size).randbytes(size))
    store.put_buffer("a/b", written)
    assert store.size("a/b") == size
    read = bytearray(size)
    store.read_into("a/b", memoryview(read))
    assert read == written
    assert store.get("a/b") == written, "boto3 finds the same"


def test_parts_are_checked_by_the_server(location: StorageLocation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "PART_BYTES", 5 << 20)
    store = ObjectStore(location)
    for key, size in (("whole", 100), ("parts", 11 << 20)):
        store.put_buffer(key, memoryview(bytes(size)))
        client = connect(location)
        head = client.head_object(
            Bucket=location.bucket, Key=f"{location.prefix}/{key}", ChecksumMode="ENABLED"
        )
        assert head.get("ChecksumCRC64NVME"), key


def test_a_read_beyond_the_end_is_no_short_success(location: StorageLocation) -> None:
    store = ObjectStore(location)
    store.put_buffer("short", memoryview(b"abc"))
    with pytest.raises(StorageError, match="short"):
        store.read_into("short", memoryview(bytearray(4)))


def test_large_objects_fail_by_the_same_names_as_small_ones(location: StorageLocation) -> None:
    data = memoryview(bytearray(10))
    with pytest.raises(ObjectMissing, match="no such object"):
        ObjectStore(location).read_into("none", data)
    with pytest.raises(ObjectMissing):
        ObjectStore(location).size("none")
    nowhere = location.model_copy(update={"endpoint_url": "http://127.0.0.1:9"})
    with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.1:9"):
        ObjectStore(nowhere).put_buffer("k", data)


def test_wrong_credentials_of_large_objects_are_named_without_the_secret(
    location: StorageLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret")
    with pytest.raises(AccessDenied) as refused:
        ObjectStore(location).put_buffer("k", memoryview(b"x"))
    assert "not-the-secret" not in str(refused.value)
