"""An S3-compatible server that fails and lies: a proxy before a true one, with faults drawn from a seed."""

from __future__ import annotations

import http.client
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REFUSAL = "412 after success"
"""Of a conditional write: three of ten, beside what else may happen to it."""
STALE = "stale listing"
"""Of listings that have changed, as many."""
FAULTS = (
    "500",
    "503",
    "reset before",
    "reset after",
    "late",
    "truncated body",
    "wrong bytes",
)
LATE_S = 0.5


class LyingStore(ThreadingHTTPServer):
    """Passes requests on, but for a share of them.

    Args:
        endpoint_url: The true server.
        seed: Which request meets which fault.
        share: Of requests that meet one.
    """

    daemon_threads = True

    def __init__(self, endpoint_url: str, seed: int, share: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = endpoint_url.removeprefix("http://")
        self.share = share
        self.random, self.lock = random.Random(seed), threading.Lock()
        self.met: Counter[str] = Counter()
        self.listings: dict[str, bytes] = {}

    @property
    def endpoint_url(self) -> str:
        """Its own."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def fault(self) -> str | None:
        """Of the next request."""
        with self.lock:
            return self.random.choice(FAULTS) if self.random.random() < self.share else None

    def lies(self) -> bool:
        """Whether the next answer, which could be one of these two lies, is one."""
        with self.lock:
            return self.random.random() < 0.3

    def handle_error(self, _request: object, _address: object) -> None:
        """A client that was killed, or a connection that was reset: no news here."""


@contextmanager
def lying_store(endpoint_url: str, seed: int, share: float) -> Iterator[LyingStore]:
    server = LyingStore(endpoint_url, seed, share)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: LyingStore
    protocol_version = "HTTP/1.1"

    def pass_on(self) -> None:
        fault = self.server.fault()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        before = {
            "500": lambda: self._answer(500, b"<Error><Code>InternalError</Code></Error>"),
            "503": lambda: self._answer(503, b"<Error><Code>SlowDown</Code></Error>"),
            "reset before": self._reset,
        }
        if fault in before:
            self._met(fault, before[fault])
            return
        if fault == "late":
            self._met(fault, lambda: time.sleep(LATE_S))
        self._lie(fault, *self._ask(body))

    def _lie(self, fault: str | None, status: int, headers: dict[str, str], content: bytes) -> None:
        """Answer after the true server has done what it was asked to."""
        is_listing = self.command == "GET" and "list-type=2" in self.path
        has_data = self.command == "GET" and not is_listing and status in (200, 206) and bool(content)
        stale = self.server.listings.setdefault(self.path, content) if is_listing else content
        if fault == "reset after":
            self._met(fault, self._reset)
        elif "If-None-Match" in self.headers and status == 200 and self.server.lies():
            refusal = b"<Error><Code>PreconditionFailed</Code></Error>"
            self._met(REFUSAL, lambda: self._answer(412, refusal))
        elif stale != content and self.server.lies():
            self._met(STALE, lambda: self._answer(200, stale, headers))
        elif fault == "wrong bytes" and has_data:
            wrong = bytearray(content)
            wrong[len(wrong) // 2] ^= 0x10
            self._met(fault, lambda: self._answer(status, bytes(wrong), headers))
        elif fault == "truncated body" and has_data:
            self._met(fault, lambda: self._answer(status, content, headers, send=len(content) // 2))
        else:
            self._answer(status, content, headers)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = pass_on  # noqa: N815 - names that http.server asks for

    def _met(self, fault: str, does: Callable[[], None]) -> None:
        with self.server.lock:
            self.server.met[fault] += 1
        does()

    def _ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        behind = http.client.HTTPConnection(self.server.behind, timeout=30)
        # With the host that was signed, which is the proxy's.
        behind.request(self.command, self.path, body, dict(self.headers.items()))
        answer = behind.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        content = answer.read()
        behind.close()
        return answer.status, headers, content

    def _answer(
        self, status: int, content: bytes, headers: dict[str, str] | None = None, send: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            if name not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        is_head = self.command == "HEAD"
        length = (headers or {}).get("content-length", "0") if is_head else str(len(content))
        self.send_header("Content-Length", length)
        self.end_headers()
        if not is_head:
            self.wfile.write(content[:send])
        if send is not None:
            self._reset()

    def _reset(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_arguments: object) -> None:
        """Nothing on the terminal."""
