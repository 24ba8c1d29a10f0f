"""The object store as the rest of the package sees it: keys below one location, typed errors, one winner."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from seedance_ops.storage.bulk import BulkClient
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.connection import connect, endpoint_of
from seedance_ops.storage.errors import (
    BucketMissing,
    ObjectExists,
    ObjectMissing,
    StorageError,
    StoreUnreachable,
)
from seedance_ops.storage.failures import FAILURES, Place, translate
from seedance_ops.storage.listing import ObjectEntry, UnfinishedUpload
from seedance_ops.storage.traffic import Traffic, TrafficCounter

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CreateBucketConfigurationTypeDef

_T = TypeVar("_T")
_DELETE_BATCH = 1000
_LONGEST_PAUSE_S = 5.0


class _Connection:
    """The client of a store, made on first use: making one takes a tenth of a second and more."""

    def __init__(self, location: StorageLocation) -> None:
        self._location = location
        self.traffic = TrafficCounter()

    @cached_property
    def client(self) -> S3Client:
        client = connect(self._location)
        self.traffic.watch(client)
        return client

    @cached_property
    def bulk(self) -> BulkClient:
        return BulkClient(self._location, self.traffic)


class ObjectStore:
    """Objects below a location. Keys are relative to its prefix; the client connects on first use.

    A store and its children share one client.

    Args:
        location: bucket, prefix and endpoint.
        patience_s: how long an unreachable store is asked again before ``StoreUnreachable`` is raised.
    """

    def __init__(self, location: StorageLocation, *, patience_s: float = 0.0) -> None:
        self.location = location
        self._patience_s = patience_s
        self._connection = _Connection(location)

    def child(self, *parts: str) -> ObjectStore:
        """The same store, further down."""
        child = ObjectStore(self.location.child(*parts), patience_s=self._patience_s)
        child._connection = self._connection
        return child

    def traffic(self) -> Traffic:
        """What was sent so far, by this store, its children and its parent together."""
        return self._connection.traffic.count()

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        """Store an object; with ``if_absent``, raise ``ObjectExists`` where one stands already.

        A conditional put whose answer was lost may have succeeded, and its retry is then refused by its own
        object. So after a refusal or a lost answer the object is read back: equal content counts as ours.
        Where a key decides a race, let the content name the writer.
        """
        if not if_absent:
            self._call("write", key, lambda: self._put(key, data))
            return
        try:
            self._call("write", key, lambda: self._put_if_absent(key, data))
        except (ObjectExists, StoreUnreachable) as error:
            if not self._holds(key, data, error):
                raise

    def put_file(self, key: str, path: Path) -> None:
        """Store a file's content, in parts where it is large."""
        self._call("write", key, lambda: self._upload(key, path))

    def put_buffer(self, key: str, data: memoryview) -> None:
        """Store what is in memory, in parts where it is large, without a copy."""
        place = self._place(key)
        self._call("write", key, lambda: self._connection.bulk.put(self._full(key), data, place))

    def read_into(self, key: str, into: memoryview, begin: int = 0) -> None:
        """Fill memory with an object's bytes from ``begin`` on; raises ``ObjectMissing``."""
        place = self._place(key)
        self._call("read", key, lambda: self._connection.bulk.read(self._full(key), into, place, begin))

    def size(self, key: str) -> int:
        """Bytes of an object; raises ``ObjectMissing``."""
        return self._call(
            "look up", key, lambda: self._connection.bulk.size(self._full(key), self._place(key))
        )

    def get(self, key: str) -> bytes:
        """An object's content; raises ``ObjectMissing``."""
        return self._call("read", key, lambda: self._read(key))

    def get_file(self, key: str, path: Path) -> None:
        """Write an object's content to a file; raises ``ObjectMissing``."""
        self._call("read", key, lambda: self._client.download_file(self._bucket, self._full(key), str(path)))

    def exists(self, key: str) -> bool:
        """Whether there is an object under the key."""
        try:
            self._call(
                "look up", key, lambda: self._client.head_object(Bucket=self._bucket, Key=self._full(key))
            )
        except ObjectMissing:
            self._require_bucket()
            return False
        return True

    def list(self, prefix: str = "") -> list[str]:
        """All keys that start with a prefix, sorted, relative to the location."""
        return [entry.key for entry in self.entries(prefix)]

    def entries(self, prefix: str = "") -> Sequence[ObjectEntry]:
        """The same, with size and time of each."""
        return self._call("list", prefix, lambda: sorted(self._pages(prefix), key=lambda entry: entry.key))

    def unfinished_uploads(self, prefix: str = "") -> Sequence[UnfinishedUpload]:
        """Uploads in parts of keys that start with a prefix, begun and neither completed nor aborted."""
        return self._call("list the uploads of", prefix, lambda: tuple(self._uploads(prefix)))

    def abort_upload(self, upload: UnfinishedUpload) -> None:
        """Delete an upload's parts; one that has ended meanwhile is no error."""
        with suppress(ObjectMissing):
            self._call("abort the upload of", upload.key, lambda: self._abort(upload))

    def delete(self, *keys: str) -> None:
        """Delete objects; one that is not there is no error."""
        for start in range(0, len(keys), _DELETE_BATCH):
            batch = keys[start : start + _DELETE_BATCH]
            self._call("delete", batch[0], lambda batch=batch: self._delete(batch))  # type: ignore[misc]

    def ensure_bucket(self) -> None:
        """Create the bucket unless it is there."""
        try:
            self._require_bucket()
        except BucketMissing:
            self._call("create", None, self._create_bucket)

    def probe_conditional_writes(self) -> bool:
        """Whether the store honours ``If-None-Match``: some compatibles overwrite silently."""
        key = f".probe/{uuid4().hex}"
        try:
            self.put(key, b"first", if_absent=True)
            self.put(key, b"second", if_absent=True)
        except ObjectExists:
            return True
        finally:
            self.delete(key)
        return False

    @property
    def _client(self) -> S3Client:
        return self._connection.client

    @property
    def _bucket(self) -> str:
        return self.location.bucket

    def _full(self, key: str) -> str:
        return f"{self.location.prefix}/{key}" if self.location.prefix else key

    def _put(self, key: str, data: bytes) -> None:
        self._client.put_object(Bucket=self._bucket, Key=self._full(key), Body=data)

    def _put_if_absent(self, key: str, data: bytes) -> None:
        self._client.put_object(Bucket=self._bucket, Key=self._full(key), Body=data, IfNoneMatch="*")

    def _upload(self, key: str, path: Path) -> None:
        with path.open("rb") as file:  # not upload_file: it hides the store's answer in an error of its own
            self._client.upload_fileobj(file, self._bucket, self._full(key))

    def _read(self, key: str) -> bytes:
        return self._client.get_object(Bucket=self._bucket, Key=self._full(key))["Body"].read()

    def _holds(self, key: str, data: bytes, reason: StorageError) -> bool:
        """Whether the object under the key is the one just written; a third one is ``ObjectExists``."""
        try:
            present = self.get(key)
        except StorageError:
            if isinstance(reason, ObjectExists):
                raise  # whose object it is cannot be told
            return False
        if present != data and isinstance(reason, StoreUnreachable):
            raise ObjectExists(
                f"cannot write {self._place(key)}: another object stands there already"
            ) from reason
        return present == data

    def _pages(self, prefix: str) -> Iterator[ObjectEntry]:
        skip = len(self._full(""))
        paginator = self._client.get_paginator("list_objects_v2")
        for page in paginator.paginate(Bucket=self._bucket, Prefix=self._full(prefix)):
            for entry in page.get("Contents", []):
                yield ObjectEntry(entry["Key"][skip:], entry["Size"], entry["LastModified"].timestamp())

    def _uploads(self, prefix: str) -> Iterator[UnfinishedUpload]:
        full = self._full(prefix)
        paginator = self._client.get_paginator("list_multipart_uploads")
        for page in paginator.paginate(Bucket=self._bucket, Prefix=full):
            for each in page.get("Uploads", []):
                if each["Key"].startswith(full):  # not every compatible heeds the prefix here
                    key = each["Key"][len(self._full("")) :]
                    yield UnfinishedUpload(key, each["UploadId"], each["Initiated"].timestamp())

    def _abort(self, upload: UnfinishedUpload) -> None:
        self._client.abort_multipart_upload(
            Bucket=self._bucket, Key=self._full(upload.key), UploadId=upload.upload_id
        )

    def _delete(self, keys: tuple[str, ...]) -> None:
        objects = [{"Key": self._full(key)} for key in keys]
        answer = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": objects, "Quiet": True})  # type: ignore[typeddict-item]
        if failed := answer.get("Errors", []):
            raise StorageError(
                f"cannot delete {self._place(keys[0])}: {failed[0].get('Code')} ({len(failed)} keys)"
            )

    def _create_bucket(self) -> None:
        region = self.location.region
        if self.location.endpoint_url or region in (None, "us-east-1"):  # the one that must not be named
            self._client.create_bucket(Bucket=self._bucket)
        else:
            where: CreateBucketConfigurationTypeDef = {"LocationConstraint": region}  # type: ignore[typeddict-item]
            self._client.create_bucket(Bucket=self._bucket, CreateBucketConfiguration=where)

    def _require_bucket(self) -> None:
        try:
            self._call("find", None, lambda: self._client.head_bucket(Bucket=self._bucket))
        except ObjectMissing as error:  # a HEAD has no body, so the code says 404 and no more
            raise BucketMissing(
                f"bucket {self._bucket!r} does not exist at {self._place(None).endpoint}; create it, or "
                "correct the URI"
            ) from error

    def _place(self, key: str | None) -> Place:
        full = None if key is None else self._full(key)
        return Place(endpoint_of(self.location) or "AWS", self._bucket, full)

    def _call(self, action: str, key: str | None, request: Callable[[], _T]) -> _T:
        deadline = time.monotonic() + self._patience_s
        pause_s = 0.25
        while True:
            try:
                return request()
            except FAILURES as error:
                failure = translate(error, self._place(key), action)
                if not isinstance(failure, StoreUnreachable) or time.monotonic() + pause_s > deadline:
                    raise failure from error
            except StoreUnreachable:  # the bulk client's own
                if time.monotonic() + pause_s > deadline:
                    raise
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
