"""The object store's client, against a simulated S3 (no network)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from moto import mock_aws

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.connection import endpoint_of
from seedance_ops.storage.errors import BucketMissing, ObjectExists, ObjectMissing, StoreUnreachable

SECRET = "not-to-be-shown"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with mock_aws():
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
        yield ObjectStore(StorageLocation(uri="s3://bucket/job/run", region="us-east-1"))


def test_keys_are_relative_to_the_location(store: ObjectStore) -> None:
    store.child("variant").put("a", b"1")
    assert store.list() == ["variant/a"]
    assert store.child("variant").get("a") == b"1"


def test_a_neighbour_whose_name_starts_alike_is_not_listed(store: ObjectStore) -> None:
    ObjectStore(StorageLocation(uri="s3://bucket/job/run-2", region="us-east-1")).put("a", b"1")
    assert store.list() == []


def test_list_returns_all_pages(store: ObjectStore) -> None:
    for index in range(1005):
        store._client.put_object(Bucket="bucket", Key=f"job/run/k/{index:04d}", Body=b"")
    keys = store.list("k/")
    assert len(keys) == 1005
    assert keys == sorted(keys)
    store.delete(*keys)
    assert store.list() == []


def test_a_conditional_put_has_one_winner(store: ObjectStore) -> None:
    store.put("lock", b"one", if_absent=True)
    with pytest.raises(ObjectExists, match="job/run/lock"):
        store.put("lock", b"two", if_absent=True)
    assert store.get("lock") == b"one"
    assert store.probe_conditional_writes()
    assert store.list() == ["lock"]


def test_a_conditional_put_whose_answer_was_lost_counts_as_done(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = store._put_if_absent

    def lose_the_answer(key: str, data: bytes) -> None:
        write(key, data)
        raise ConnectTimeoutError(endpoint_url="http://store")

    monkeypatch.setattr(store, "_put_if_absent", lose_the_answer)
    store.put("manifest", b"mine", if_absent=True)
    assert store.get("manifest") == b"mine"


def test_a_conditional_put_that_was_lost_before_it_arrived_is_an_error(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never_arrive(key: str, data: bytes) -> None:
        raise ConnectTimeoutError(endpoint_url="http://store")

    monkeypatch.setattr(store, "_put_if_absent", never_arrive)
    with pytest.raises(StoreUnreachable):
        store.put("manifest", b"mine", if_absent=True)
    store.put("manifest", b"theirs")
    with pytest.raises(ObjectExists):
        store.put("manifest", b"mine", if_absent=True)


def test_a_missing_object_and_a_missing_bucket_are_told_apart(store: ObjectStore) -> None:
    assert not store.exists("nothing")
    with pytest.raises(ObjectMissing, match="s3://bucket/job/run/nothing at AWS"):
        store.get("nothing")
    elsewhere = ObjectStore(StorageLocation(uri="s3://absent/x", region="us-east-1"))
    with pytest.raises(BucketMissing, match="'absent'"):
        elsewhere.put("a", b"")
    with pytest.raises(BucketMissing, match="'absent'"):
        elsewhere.exists("a")
    elsewhere.ensure_bucket()
    assert not elsewhere.exists("a")


def test_files_go_up_and_come_down(store: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    (folder / "up").write_bytes(b"content")
    store.put_file("f", folder / "up")
    store.get_file("f", folder / "down")
    assert (folder / "down").read_bytes() == b"content"
    with pytest.raises(ObjectMissing):
        store.get_file("g", folder / "down")
    with pytest.raises(BucketMissing):
        ObjectStore(StorageLocation(uri="s3://absent/x", region="us-east-1")).put_file("f", folder / "up")


def test_an_unreachable_store_is_asked_again_and_then_named(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def no_answer(key: str, data: bytes) -> None:
        calls.append(key)
        raise ConnectTimeoutError(endpoint_url="http://store")

    patient = ObjectStore(store.location, patience_s=0.6)
    monkeypatch.setattr(patient, "_put", no_answer)
    with pytest.raises(StoreUnreachable, match="s3://bucket/job/run/a at AWS") as caught:
        patient.put("a", b"")
    assert len(calls) == 2
    assert SECRET not in str(caught.value)


def test_the_environment_names_the_endpoint_unless_the_location_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://general")
    assert endpoint_of(StorageLocation(uri="s3://bucket")) == "http://general"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://specific")
    assert endpoint_of(StorageLocation(uri="s3://bucket")) == "http://specific"
    assert endpoint_of(StorageLocation(uri="s3://bucket", endpoint_url="http://own")) == "http://own"


def test_a_listing_tells_size_and_time(store: ObjectStore) -> None:
    store.put("a/x", b"12345")
    [found] = store.entries("a/")
    assert (found.key, found.bytes) == ("a/x", 5)
    assert abs(found.modified_s - time.time()) < 3600


def test_an_unfinished_upload_is_found_below_its_prefix_and_aborted_once(store: ObjectStore) -> None:
    client, bucket, prefix = store._client, store.location.bucket, store.location.prefix
    for key in ("a/x", "b/y"):
        client.create_multipart_upload(Bucket=bucket, Key=f"{prefix}/{key}")
    [found] = store.unfinished_uploads("a/")
    assert found.key == "a/x"
    store.abort_upload(found)
    store.abort_upload(found)  # somebody else was faster
    assert [each.key for each in store.unfinished_uploads()] == ["b/y"]
