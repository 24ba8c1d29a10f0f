"""Turns what boto3 raises into this layer's errors: which one, and what to tell the person who reads it."""

from __future__ import annotations

from dataclasses import dataclass

from boto3.exceptions import RetriesExceededError
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.exceptions import (
    ConnectionError as BotoConnectionError,
)

from seedance_ops.storage.errors import (
    AccessDenied,
    BucketMissing,
    ObjectExists,
    ObjectMissing,
    StorageError,
    StoreUnreachable,
)

FAILURES = (BotoCoreError, ClientError, RetriesExceededError)
"""What a request may raise, apart from programming errors."""

_NO_ANSWER = (BotoConnectionError, HTTPClientError, IncompleteReadError, RetriesExceededError)
_DENIED = frozenset(
    {"403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"}
)
_MISSING = frozenset({"404", "NoSuchKey", "NoSuchUpload", "NotFound"})
_TROUBLE = frozenset(
    {"RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeTooSkewed"}
)
_LOST_CONDITION = frozenset({"PreconditionFailed", "412"})
CONFLICT = frozenset({"ConditionalRequestConflict", "409"})
"""AWS answers so when two conditional puts overlap: neither has won yet, ask again."""


@dataclass(frozen=True)
class Place:
    """What an error message says about where it happened."""

    endpoint: str
    bucket: str
    key: str | None = None

    def __str__(self) -> str:
        path = f"s3://{self.bucket}" + (f"/{self.key}" if self.key else "")
        return f"{path} at {self.endpoint}"


def error_code(error: BaseException) -> str:
    """The S3 error code, or the empty string."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def translate(error: Exception, place: Place, action: str) -> StorageError:
    """The error of this layer for one of boto3's."""
    if isinstance(error, ClientError):
        return _of_answer(error, place, action)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return AccessDenied(
            f"cannot {action} {place}: no complete credentials; set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or a profile or role that boto3 finds"
        )
    if isinstance(error, _NO_ANSWER):
        return StoreUnreachable(
            f"cannot {action} {place}: no answer ({type(error).__name__}); is the server up, and is the "
            "endpoint right?"
        )
    return StorageError(f"cannot {action} {place}: {type(error).__name__}: {error}")


def _of_answer(error: ClientError, place: Place, action: str) -> StorageError:
    code = error_code(error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code == "NoSuchBucket":
        return BucketMissing(
            f"cannot {action} {place}: bucket {place.bucket!r} does not exist there; create it, or correct "
            "the URI"
        )
    if code in _MISSING:
        return ObjectMissing(f"cannot {action} {place}: no such object")
    if code in _LOST_CONDITION:
        return ObjectExists(f"cannot {action} {place}: another object stands there already")
    if code in _DENIED or status in (401, 403):
        return AccessDenied(
            f"cannot {action} {place}: refused ({code or status}); check the credentials and that they "
            f"may use bucket {place.bucket!r}"
        )
    if code in _TROUBLE or code in CONFLICT or status >= 500:
        return StoreUnreachable(
            f"cannot {action} {place}: the server answered {code or status}; try again later"
        )
    detail = error.response.get("Error", {}).get("Message", "")
    return StorageError(f"cannot {action} {place}: {code or status} {detail}".rstrip())
