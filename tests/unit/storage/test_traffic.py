"""Requests and bytes are counted as a server sees them: retries and parts included, unanswered ones not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.errors import ObjectMissing, StoreUnreachable
from seedance_ops.storage.traffic import Traffic, class_of

MIB = 1 << 20
_UPLOAD = b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
_COMPLETED = b"<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"


class Server(ThreadingHTTPServer):
    """Takes anything, and writes down the method and body of every request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, int]] = []
        self.busy = 0


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, len(body)))
        busy, self.server.busy = self.server.busy > 0, self.server.busy - 1
        content = b"" if busy else {"uploads": _UPLOAD, "uploadId=u": _COMPLETED}.get(self.query(), b"<a/>")
        self.send_response(503 if busy else 200)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = answer  # noqa: N815 - the names that http.server asks for

    def query(self) -> str:
        return self.path.partition("?")[2] if self.command == "POST" else ""

    def log_message(self, *_arguments: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    server = Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def store_at(server: Server) -> ObjectStore:
    endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    return ObjectStore(StorageLocation(uri="s3://bucket/run", endpoint_url=endpoint))


def test_a_store_and_its_children_count_together_and_by_class(store: ObjectStore) -> None:
    store.put("a", b"12345")
    before = store.traffic()
    child = store.child("b")
    child.put("c", b"123", if_absent=True)
    assert child.list() == ["c"]
    assert store.get("a") == b"12345"
    with pytest.raises(ObjectMissing):
        store.get("nothing")
    added = child.traffic().since(before)
    assert added == Traffic({"put": 1, "list": 1, "get": 2}, 3)
    assert store.traffic().since(child.traffic()) == Traffic()


def test_what_boto_repeats_by_itself_is_counted_again(server: Server) -> None:
    server.busy = 1
    store = store_at(server)
    store.put("a", b"12345")
    assert server.seen == [("PUT", 5), ("PUT", 5)]
    assert store.traffic() == Traffic({"put": 2}, 10)


def test_every_part_of_a_large_file_is_counted(server: Server, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(17 * MIB))
    store = store_at(server)
    store.put_file("large", tmp_path / "large")
    # Three parts of 8, 8 and 1 MiB between a request that opens and one that completes.
    assert sorted(size for method, size in server.seen if method == "PUT") == [MIB, 8 * MIB, 8 * MIB]
    assert store.traffic() == Traffic({"put": 5}, sum(size for _, size in server.seen))


def test_a_request_without_an_answer_is_not_counted(server: Server) -> None:
    store = store_at(server)
    server.shutdown()
    server.server_close()
    with pytest.raises(StoreUnreachable):
        store.put("a", b"12345")
    assert store.traffic() == Traffic()


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("PutObject", "put"),
        ("CreateMultipartUpload", "put"),
        ("UploadPart", "put"),
        ("CompleteMultipartUpload", "put"),
        ("ListObjectsV2", "list"),
        ("HeadObject", "get"),
        ("GetObject", "get"),
        ("DeleteObjects", "delete"),
        ("AbortMultipartUpload", "delete"),
    ],
)
def test_operations_fall_into_the_classes_of_price_lists(operation: str, expected: str) -> None:
    assert class_of(operation) == expected
