"""Counts what a client sends to the object store: requests by class, and bytes of their bodies."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

RequestClass = Literal["put", "get", "list", "delete"]
"""As price lists tell requests apart. ``put`` also starts, fills and completes an upload in parts."""

_CLASS_OF_VERB: dict[str, RequestClass] = {
    "List": "list", "Get": "get", "Head": "get", "Delete": "delete", "Abort": "delete",
}  # fmt: skip
_SENT = "seedance_sent_bytes"


@dataclass(frozen=True)
class Traffic:
    """What was sent since some moment."""

    requests: Mapping[RequestClass, int] = field(default_factory=dict)
    """HTTP requests that the store answered, with an error or without, retries and parts included."""
    sent_bytes: int = 0
    """Bytes of their bodies."""

    def since(self, earlier: Traffic) -> Traffic:
        """What came on top of an earlier count of the same client."""
        added = Counter(self.requests)
        added.subtract(earlier.requests)
        return Traffic({name: n for name, n in added.items() if n}, self.sent_bytes - earlier.sent_bytes)


class TrafficCounter:
    """Hears every HTTP request of the clients it watches, the retries that boto3 makes by itself too.

    A request that got no answer is not counted: an unreachable store bills nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # parts of one upload are sent by several threads
        self._requests: Counter[RequestClass] = Counter()
        self._sent_bytes = 0

    def watch(self, client: S3Client) -> None:
        """Count the client's requests from here on."""
        events = client.meta.events
        events.register_first("before-send.s3", self._about_to_send)
        events.register("response-received.s3", self._answered)

    def add(self, kind: RequestClass, requests: int, sent_bytes: int) -> None:
        """Count what another client than boto3's has sent."""
        with self._lock:
            self._requests[kind] += requests
            self._sent_bytes += sent_bytes

    def count(self) -> Traffic:
        """Everything so far."""
        with self._lock:
            return Traffic(dict(self._requests), self._sent_bytes)

    def _about_to_send(self, request: Any, **_event: Any) -> None:
        request.context[_SENT] = _body_bytes(request.headers)

    def _answered(
        self, event_name: str, context: dict[str, Any], exception: BaseException | None, **_event: Any
    ) -> None:
        sent = context.pop(_SENT, 0)
        if exception is not None:
            return
        with self._lock:
            self._requests[class_of(event_name.rpartition(".")[2])] += 1
            self._sent_bytes += sent


def class_of(operation: str) -> RequestClass:
    """The class of an S3 operation by its API name: ``PutObject``, ``UploadPart`` … are ``put``."""
    return next((name for verb, name in _CLASS_OF_VERB.items() if operation.startswith(verb)), "put")


def _body_bytes(headers: Mapping[str, Any]) -> int:
    """The body's length; of a body sent in chunks that of the object in it."""
    for name in ("Content-Length", "X-Amz-Decoded-Content-Length"):
        length = headers.get(name)
        if length is not None:
            return int(length)
    return 0
