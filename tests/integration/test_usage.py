"""What a run says it sent is what a proxy before the object store counted."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.metrics.reading import read_usage
from seedance_ops.training.plan import LaunchPlan

RANKS = 2


class Proxy(ThreadingHTTPServer):
    """Passes every request on unchanged, and writes down its method, target and body's size."""

    def __init__(self, endpoint_url: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind = endpoint_url.removeprefix("http://")
        self.seen: list[tuple[str, str, int]] = []


class Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, len(body)))
        behind = http.client.HTTPConnection(self.server.behind, timeout=30)
        # With the host that was signed, which is the proxy's.
        behind.request(self.command, self.path, body, dict(self.headers.items()))
        answer = behind.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(content)
        behind.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = pass_on  # noqa: N815 - names that http.server asks for

    def log_message(self, *_arguments: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def proxy(location: StorageLocation) -> Iterator[Proxy]:
    assert location.endpoint_url is not None
    proxy = Proxy(location.endpoint_url)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield proxy
    proxy.shutdown()
    proxy.server_close()


def test_requests_and_bytes_are_those_that_the_store_saw(
    run_ranks: Callable[..., list[int | None]], location: StorageLocation, proxy: Proxy, tmp_path: Path
) -> None:
    through = location.model_copy(update={"endpoint_url": f"http://127.0.0.1:{proxy.server_address[1]}"})
    plan = LaunchPlan.model_validate(
        {
            "job": "tiny",
            "job_hash": "h",
            "run_id": "r",
            "variant": "v",
            "seed": 1,
            "submission": 1,
            "batch": {"per_rank": 4},
            "stop": {"steps": 12},
            "checkpoint": {"interval_steps": 5, "keep": {"last": 1}},
            "storage": through,
        }
    )
    plan.write(tmp_path / "plan.json")
    environment = {"SEEDANCE_PLAN": str(tmp_path / "plan.json"), "SEEDANCE_WORKSPACE": str(tmp_path)}
    codes = run_ranks("tiny.py", RANKS, tmp_path / "log", environment)
    assert codes == [0] * RANKS, (tmp_path / "log").read_text()

    rows = [row for row in read_usage(ObjectStore(location)).to_pylist() if row["quantity"] is not None]
    # What no part can tell of is the request that stored itself: each rank's last.
    last = {path for _, path, _ in proxy.seen if "/usage/" in path and "list-type" not in path}
    last = {max(path for path in last if f"rank-{rank:04d}" in path) for rank in range(RANKS)}
    seen = [(method, path, size) for method, path, size in proxy.seen if path not in last]
    assert len(seen) == len(proxy.seen) - RANKS

    counted = {
        kind: sum(row["quantity"] for row in rows if row["tier"] == kind)
        for kind in ("put", "get", "list", "delete")
    }
    assert counted == {
        "put": sum(method == "PUT" for method, _, _ in seen),
        "get": sum(method in ("GET", "HEAD") and "list-type" not in path for method, path, _ in seen),
        "list": sum("list-type" in path for _, path, _ in seen),
        "delete": sum(method == "POST" for method, _, _ in seen),  # several objects at once
    }
    assert counted["put"] > 20
    assert counted["delete"] > 0
    sent = sum(row["quantity"] for row in rows if row["component"] == "egress")
    assert sent * 1e9 == pytest.approx(sum(size for _, _, size in seen))
    checkpoints = sum(size for _, path, size in seen if "/checkpoints/" in path)
    while_saving = sum(
        row["quantity"] for row in rows if (row["component"], row["stage"]) == ("egress", "checkpoint")
    )
    assert while_saving * 1e9 >= checkpoints
    assert {row["rank"] for row in rows} == set(range(RANKS))
